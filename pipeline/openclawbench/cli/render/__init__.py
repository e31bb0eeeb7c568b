"""What commands print for people: tables and texts on a terminal, every text made safe."""
