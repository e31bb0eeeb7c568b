"""The release written again by its own writer, and compared with the released files byte for byte."""
