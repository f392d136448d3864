"""What a finished run is good for: labels, a cleaned graph, reasons, and edges that a person should check."""
