"""How attribute values, events, links, resources and scopes lie in the store, without loss.

An AnyValue is one type number and one text. The low four bits of the number say what the AnyValue was, the two bits
above say where its text is:

    0 EMPTY    ""                        4 DOUBLE   repr, or NaN, Infinity, -Infinity
    1 STRING   the string itself         5 ARRAY    OTLP/JSON: [{AnyValue},…]
    2 BOOL     true | false              6 KVLIST   OTLP/JSON: [{"key":…,"value":{AnyValue}},…]
    3 INT      decimal                   7 BYTES    base64

    0x00 INLINE   the text is in the row
    0x10 WHOLE    the row holds the hash of one content row with the text
    0x20 LIST     the text is a JSON array, its elements are content rows: the row holds their hashes joined by " ";
                  the text is "[" + ",".join(bodies) + "]"
    0x30 SPACED   the same, joined by ", ": what json.dumps writes

A hash is the first 32 hex digits of the body's sha256 (UTF-8). Texts of OUT_OF_LINE bytes or more go out of line. A
text becomes LIST or SPACED only when joining gives back the same bytes and its elements average LIST_ELEMENT bytes or
more (else the hashes would outweigh them); else it is WHOLE. Readers rely on neither limit.

Inside ARRAY and KVLIST an AnyValue is spelled as OTLP/JSON does: {"stringValue":"x"}, {"boolValue":true},
{"intValue":"7"}, {"doubleValue":0.5} (or "NaN", "Infinity", "-Infinity"), {"bytesValue":"<base64>"},
{"arrayValue":{"values":[…]}}, {"kvlistValue":{"values":[{"key":…,"value":{…}},…]}}, and {} when it is empty.

The columns `events`, `links`, `resource` and `scope` hold compact JSON. ATTRIBUTES is a list of [key, type, text] in
the order sent, duplicates kept; long texts go out of line there too, into the same content rows:

    events    "" when there is none, else
              [{"time":"<ns>","name":"…","attributes":ATTRIBUTES,"dropped":0},…]
    links     "" when there is none, else
              [{"trace_id":"<hex>","span_id":"<hex>","trace_state":"","attributes":ATTRIBUTES,"dropped":0,"flags":0},…]
    resource  {"attributes":ATTRIBUTES,"dropped":0,"schema_url":""}
    scope     {"name":"","version":"","attributes":ATTRIBUTES,"dropped":0,"schema_url":""}

`dropped` is OTLP's dropped_attributes_count. A reader takes an absent member, and an empty text, for the default.
Texts of a resource or a scope always stay in the row: many traces share it, and content rows belong to one trace.
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
LIST_ELEMENT: Final = 48
