"""JSON files read value by value, however their bytes come."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.importers._documents import Document, documents
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._outline import outline
from spanproof_collector.model.values import Json


class InPieces(ReadableFile):
    """A file whose bytes come in pieces of this size."""

    def __init__(self, content: bytes, size: int) -> None:
        super().__init__(Path("nowhere"))
        self._content, self._size = content, size

    def chunks(self) -> Iterator[bytes]:
        """Yield the pieces."""
        for start in range(0, len(self._content), self._size):
            yield self._content[start : start + self._size]


def read(
    content: bytes, size: int = 7, inside: tuple[str, ...] = (), *, mapping: bool = False
) -> list[Document | Damage]:
    return list(documents(InPieces(content, size), inside, mapping=mapping))


def values(found: list[Document | Damage]) -> list[Json]:
    return [each.value for each in found if isinstance(each, Document)]


SIMPLE = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    SIMPLE | st.text(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(st.lists(ANYTHING, max_size=5), st.integers(1, 9), st.sampled_from([None, 0, 2]))
def test_the_elements_of_an_array_come_back_whole(items: list[Json], size: int, indent: int | None) -> None:
    text = json.dumps(items, indent=indent)
    assert values(read(text.encode(), size)) == items


@pytest.mark.parametrize("size", [7, 1_000_000])
def test_a_value_of_thousands_of_texts_comes_back_whole(size: int) -> None:
    items: list[Json] = [[f'a "text" {number}' for number in range(2_500)], {"last": "\\"}]
    assert values(read(json.dumps(items).encode(), size)) == items


@given(st.lists(st.dictionaries(st.text(), ANYTHING, max_size=3), min_size=1, max_size=5), st.integers(1, 9))
def test_one_object_a_line_comes_back_whole_with_its_line(items: list[dict[str, Json]], size: int) -> None:
    found = read(b"".join(json.dumps(item).encode() + b"\r\n" for item in items), size)
    assert values(found) == items
    assert [each.line for each in found] == list(range(1, len(items) + 1))


@given(st.lists(ANYTHING, max_size=3), ANYTHING, st.integers(1, 9))
def test_what_stands_beside_a_list_comes_along(items: list[Json], beside: Json, size: int) -> None:
    text = json.dumps({"about": beside, "items": items, "after": 1}).encode()
    found = read(text, size, ("items",))
    assert values(found) == items
    assert [each.outer for each in found if isinstance(each, Document)] == [{"about": beside}] * len(items)


def test_a_mapping_names_its_documents() -> None:
    found = read(b'{"0": {"a": 1}, "1": {"b": 2}}', mapping=True)
    assert [(each.key, each.value) for each in found if isinstance(each, Document)] == [
        ("0", {"a": 1}),
        ("1", {"b": 2}),
    ]


def test_an_object_without_the_list_is_a_document() -> None:
    assert values(read(b'{"a": 1, "b": [2]}', inside=("items",))) == [{"a": 1, "b": [2]}]


def test_a_byte_order_mark_and_what_only_python_writes_are_read() -> None:
    (value,) = values(read(b'\xef\xbb\xbf{"score": NaN, "word": "\\ud800"}'))
    assert isinstance(value, dict)
    assert value["word"] == "\ud800"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_broken_element_is_named_with_its_line_and_the_others_are_kept(size: int) -> None:
    found = read(b'[\n{"a": 1},\n{"a": nope},\n{"a": 3}\n]', size)
    assert values(found) == [{"a": 1}, {"a": 3}]
    assert [each.line for each in found if isinstance(each, Damage)] == [3]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_line_that_is_cut_off_does_not_hide_the_lines_after_it(size: int) -> None:
    found = read(b'{"a": 1}\n{"a": {"b": "cut\n{"a": 3}\n{"a": 4}\n', size)
    assert values(found) == [{"a": 1}, {"a": 3}, {"a": 4}]
    assert [each.line for each in found if isinstance(each, Damage)] == [2]


@pytest.mark.parametrize("cut", range(1, 40))
def test_wherever_an_array_is_cut_off_what_came_whole_before_is_kept(cut: int) -> None:
    text = json.dumps([{"a": "x]"}, {"b": 'y"{'}, {"c": [1, 2]}]).encode()
    found = read(text[:cut], 5)
    whole = [value for end, value in ((12, {"a": "x]"}), (27, {"b": 'y"{'}), (40, {"c": [1, 2]})) if cut >= end]
    assert values(found) == whole
    assert isinstance(found[-1], Damage)


def test_a_large_list_is_read_in_the_memory_of_one_element(tmp_path: Path) -> None:
    file, one = tmp_path / "large", json.dumps({"id": 1, "text": "word " * 2000}).encode()
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(b'{"about": 1, "simulations": [')
        for _ in range(2500):
            out.write(one + b",")
        out.write(one + b"]}")
    tracemalloc.start()
    try:
        count = sum(isinstance(each, Document) for each in documents(ReadableFile(file), ("simulations",)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 2501
    assert peak < 12 * 1024 * 1024 < 2501 * len(one)


def test_an_outline_tells_keys_and_shapes_without_the_content(tmp_path: Path) -> None:
    file = tmp_path / "any"
    file.write_text(json.dumps({"text": "x" * 1000, "list": [{"role": "a"}, {"b": 1}, {"c": 1}], "last": {"n": None}}))
    found = outline(file)
    assert (found.kind, list(found.first)) == ("object", ["text", "list", "last"])
    assert found.first["text"] == "x" * 64
    assert found.first["list"] == [{"role": "a"}, {"b": 1}]
    assert found.within("list") == {"role": "a"}


def test_an_outline_of_a_file_that_is_cut_off_has_what_came_before(tmp_path: Path) -> None:
    file = tmp_path / "any"
    file.write_bytes(b'{"a": 1, "messages": [{"role": "user", "content": "cut o')
    found = outline(file)
    assert found.first == {"a": 1, "messages": [{"role": "user", "content": None}]}


def test_an_outline_of_a_file_that_changed_is_a_new_one(tmp_path: Path) -> None:
    file = tmp_path / "any"
    file.write_bytes(b'{"a": 1}')
    assert list(outline(file).first) == ["a"]
    file.write_bytes(b'{"bcd": 1}')
    assert list(outline(file).first) == ["bcd"]


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"PK\x03\x04", b"\x00\xff{", b"[", b"]", b'"', b"{]", b"plain words"]
)
def test_what_is_no_json_has_no_outline_and_no_documents(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "any"
    file.write_bytes(content)
    assert outline(file).first == {}
    assert values(read(content)) in ([], [None])
