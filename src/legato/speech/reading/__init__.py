"""Reading out: numbers, dates, sums, units and addresses as the words that a voice says.

Pure and without state. Each function sees one segment as the scanner cut it.
"""

from legato.speech.reading.text import LANGUAGES, language_of, read_out

__all__ = ["LANGUAGES", "language_of", "read_out"]
