"""Words that mean that a value is missing; one list for labels, numbers and the readers of other libraries' graphs."""

MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""In small letters, without blanks around them."""
