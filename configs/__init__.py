"""The configs that are shipped, by name: `pipeline configs` lists them."""
