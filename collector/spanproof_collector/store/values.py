"""How attribute values lie in the store: one type number and one text each, without loss.

The low four bits of the type number say what the AnyValue was, the two bits above say where its text is:

    0 EMPTY    ""                        4 DOUBLE   repr, or NaN, Infinity, -Infinity
    1 STRING   the string itself         5 ARRAY    "[" + elements as OTLP/JSON AnyValues joined by "," + "]"
    2 BOOL     true | false              6 KVLIST   OTLP/JSON: [{"key":…,"value":{AnyValue}},…]
    3 INT      decimal                   7 BYTES    base64

    0x00 INLINE   the text is in the row
    0x10 WHOLE    the row holds the hash of one content row with the text
    0x20 LIST     the text is a JSON array, its elements are content rows: the row holds their hashes joined by " ";
                  the text is "[" + ",".join(bodies) + "]"
    0x30 SPACED   the same, joined by ", ": what json.dumps writes

Texts of OUT_OF_LINE bytes or more go out of line. A text becomes LIST or SPACED only when joining gives back the same
bytes; else it is WHOLE.
"""

from typing import Final

EMPTY: Final = 0
STRING: Final = 1
BOOL: Final = 2
INT: Final = 3
DOUBLE: Final = 4
ARRAY: Final = 5
KVLIST: Final = 6
BYTES: Final = 7

INLINE: Final = 0x00
WHOLE: Final = 0x10
LIST: Final = 0x20
SPACED: Final = 0x30

OUT_OF_LINE: Final = 512
