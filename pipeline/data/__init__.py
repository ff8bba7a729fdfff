"""From data sources and file formats to prepared samples."""
