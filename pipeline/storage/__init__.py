"""Where a run is kept: a folder, or a prefix of an object store, behind one `Root`."""
