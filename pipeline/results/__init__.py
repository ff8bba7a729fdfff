"""Result tables and what they are made of."""
