"""Kinds: which items of a table are of one model, and what tells them.

A marker attribute tells them if its value predicts which attributes an item has; else the constant words that one key
begins with do; else the words that both keys begin and end with, or have between their values. Where nothing does, the
table is that of one model.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Final, TypeVar

from dynamap_async.dataclass import dataclass
from dynamap_async.generate.names import words_of
from dynamap_async.generate.sample import Sample
from dynamap_async.models.templates import after_all
from dynamap_async.schema import KeySchema
from dynamap_async.wire import WireItem

T = TypeVar("T")
WordT = TypeVar("WordT", bound=Hashable)

SEPARATORS: Final = "#|:/~@_-"
STRONG: Final = "#|"
"""Separators that mean nothing else in values."""
VERSIONS: Final = ("v", "V")
"""The words that stand before the number of a version without a separator: ``v0``, ``v12#LOG``."""
_MARKERS_OF_TOOLS: Final = ("__edb_e__", "_et", "_type", "__typename")
_MARKERS: Final = frozenset(
    {
        *("type", "kind", "entity", "entitytype", "itemtype", "recordtype", "objecttype", "et", "cls", "class"),
        *("model", "discriminator", "typename"),
    }
)
_GUARD: Final = "_unique"
"""How the partition keys of guards begin that another tool writes for unique values."""
_SHARE: Final = 0.9
"""A marker is on so many of the items; kinds whose attributes are alike to this degree are one."""
_MOST_KINDS: Final = 50
"""More values than these are no kinds."""
_FEW: Final = 12
"""How many words a design has, as a rule: beyond that they are rather names, states or other values."""
_ALIKE: Final = 0.7
"""Sets of attributes that have so large a part in common belong to one kind."""
_WORD: Final = re.compile(r'[#|]?[A-Za-z$][A-Za-z$_.-]{0,39}|"[A-Za-z$_.-]{1,40}"')
"""A word of the design; a separator before it sorts its items before, or behind, all others of a partition."""
_BEGUN: Final = re.compile(
    r"([#|]?[A-Za-z$][A-Za-z$_.-]{0,39}[#|:/~])|([#|]?[A-Za-z$][A-Za-z$.]{0,39}[@_-])|([vV](?=\d+(?:[#|_]|$)))"
)
"""What a text may begin with that is no value, with its separator; or one of ``VERSIONS`` before a number."""
_ENDED: Final = re.compile(r"(?<=.)[#|][A-Za-z$][A-Za-z$_.-]{0,39}$")
_BETWEEN: Final = re.compile(r"(?<=.)[#|][A-Za-z$][A-Za-z$_.-]{0,39}[#|](?=.)")
_MOST_BETWEEN: Final = 3
"""So many words are looked for between the values of a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKind:
    """The items of one model."""

    name: str
    """The name that the model's name is made of."""
    kind: str | None
    """The text that tells it; None for items without a marker, and in a table of one kind."""
    items: tuple[WireItem, ...]
    words: Mapping[str, str]
    """Key attribute -> the constant that its texts begin with, its separator included."""
    ends: Mapping[str, str] = field(default_factory=dict[str, str])
    """Key attribute -> the constant that its texts end with, its separator included."""
    middles: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Key attribute -> the constants that stand between the values of its texts, with the separators around them."""
    checks: tuple[str, ...] = ()
    """Doubts, each a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKinds:
    """All kinds of a table, the most frequent first."""

    kinds: tuple[FoundKind, ...]
    discriminator: str | None = None
    """The attribute that tells them; None in a table of one kind."""
    is_prefix: bool = False
    """Whether it begins with the kind, and is not the kind itself."""
    by_keys: bool = False
    """Whether nothing but the templates of the keys tells them."""
    checks: tuple[str, ...] = ()
    """Doubts about the table."""


def find_kinds(sample: Sample, *, by_keys: bool = True, by_middles: bool = True) -> FoundKinds:
    """Return the kinds of items in a table.

    Args:
        by_keys: whether the words of both keys may tell kinds, where no attribute tells all of them alone.
        by_middles: whether those of them that stand between two values may.
    """
    items, guards = _without_guards(sample)
    skipped = (f"items that only guard unique values of another tool are left out ({guards:,})",) if guards else ()
    marker = _marker(items, sample.schema.keys)
    if marker is not None:
        return _marked(sample, items, marker, skipped)
    return _by_words(sample, items, skipped, by_keys=by_keys, by_middles=by_middles)


def is_unmarked(item: WireItem, marker: str) -> bool:
    """Return whether an item has no marker.

    Args:
        marker: the attribute that others have.
    """
    return "S" not in item.get(marker, {})


def _without_guards(sample: Sample) -> tuple[list[WireItem], int]:
    partition = sample.schema.keys.names[0]
    items = [item for item in sample.items if not item[partition].get("S", "").startswith(_GUARD)]
    return items, len(sample.items) - len(items)


def text_of(item: WireItem, attribute: str) -> str | None:
    """Return the text of an attribute; None where it has none."""
    value = item.get(attribute)
    return None if value is None else value.get("S")


def behind_word_of(text: str) -> str | None:
    """Return the first text behind all that begin with the same word; None for a text that begins with a value.

    Args:
        text: that of a sort key.
    """
    word = _begin(text)
    if word:
        return after_all(word)
    return f"{text}\0" if _WORD.fullmatch(text) else None


def _marker(items: Sequence[WireItem], keys: KeySchema) -> str | None:
    """Return the attribute that says of what kind an item is, if there is one."""
    names = {name for item in items for name in item} - {*keys.names}
    found: list[tuple[bool, float, str]] = []
    for name in sorted(names):
        present = sum(name in item for item in items)
        texts = [text for item in items if (text := text_of(item, name)) is not None]
        if len(texts) < max(present, _SHARE * len(items)) or not 2 <= len(set(texts)) <= _MOST_KINDS or "" in texts:
            continue
        if name in _MARKERS_OF_TOOLS:
            return name
        # An attribute that is called a type or kind needs to predict less than one that happens to.
        known = "".join(words_of(name)) in _MARKERS and len(set(texts)) <= max(_FEW, len(items) // 5)
        score = _predicted(items, name, names - {name}, keys)
        if (known and _is_in_keys(items, name, keys)) or (
            score >= (0.5 if known else 0.8) and (known or _is_plain(items, name, keys))
        ):
            found.append((known, score, name))
    return max(found)[2] if found else None


def _is_in_keys(items: Sequence[WireItem], marker: str, keys: KeySchema) -> bool:
    """Return whether keys of two kinds never begin with the same words, so that they tell the same as the marker."""
    frames: defaultdict[tuple[str, ...], set[str | None]] = defaultdict(set)
    for item in items:
        frames[tuple(_begin(text_of(item, name) or "") for name in keys.names)].add(text_of(item, marker))
    return len(frames) <= _FEW and all(len(kinds) == 1 for kinds in frames.values())


def _predicted(items: Sequence[WireItem], marker: str, names: Iterable[str], keys: KeySchema) -> float:
    """Return the share of the items' attributes and key prefixes that a marker predicts."""
    kinds = [text_of(item, marker) for item in items]
    known: list[list[object]] = [[name in item for item in items] for name in sorted(names)]
    for name in keys.names:
        begun = [_begin(text_of(item, name) or "") for item in items]
        if len(set(begun)) <= _FEW:
            known.append([*begun])
    # The information that the marker gives of each feature, as a share of what there is to know (in bits).
    whole = explained = 0.0
    for feature in known:
        entropy = _entropy(feature)
        groups: defaultdict[object, list[object]] = defaultdict(list)
        for kind, each in zip(kinds, feature, strict=True):
            groups[kind].append(each)
        left = sum(len(group) / len(items) * _entropy(group) for group in groups.values())
        whole, explained = whole + entropy, explained + entropy - left
    return explained / whole if whole > 1e-9 else 0.0


def _entropy(values: Sequence[object]) -> float:
    return -sum(n / len(values) * math.log2(n / len(values)) for n in Counter(values).values())


def _is_plain(items: Sequence[WireItem], marker: str, keys: KeySchema) -> bool:
    """Return whether an attribute of any name tells kinds: its values are frequent, and other attributes go with it."""
    groups = _grouped(items, [text_of(item, marker) or "" for item in items])
    if min(map(len, groups.values())) < 5:
        return False
    cores = [_core(group, {*keys.names, marker}) for group in groups.values()]
    return all(_jaccard(one, other) < _ALIKE for n, one in enumerate(cores) for other in cores[:n])


def _marked(sample: Sample, items: Sequence[WireItem], marker: str, checks: tuple[str, ...]) -> FoundKinds:
    groups = _grouped(items, [text_of(item, marker) or "" for item in items])
    kinds = [
        FoundKind(name=text or "Unmarked", kind=text or None, items=tuple(group), words=_own_words(group, sample))
        for text, group in groups.items()
    ]
    return FoundKinds(kinds=_ordered(kinds), discriminator=marker, checks=checks)


def _by_words(
    sample: Sample, items: Sequence[WireItem], checks: tuple[str, ...], *, by_keys: bool, by_middles: bool
) -> FoundKinds:
    keys = sample.schema.keys
    # The sort key first: in a single-table design it tells the kinds within a partition.
    names = [*reversed(keys.names), *_text_keys(sample)]
    words = {name: _words(items, name, keys) for name in dict.fromkeys(names)}
    told = [name for name in words if items and all(words[name])]
    best = max(told, key=lambda name: len(_separate(words[name])), default=None)
    count = 1 if best is None else len(_separate(words[best]))
    together = _by_both_keys(sample, items, words, checks, by_middles=by_middles) if by_keys else None
    if together is not None and len(together.kinds) > count:
        return together
    if best is None or count < 2:
        doubts = (*_undivided(items, words, keys), *_values_or_kinds(items, words))
        name = sample.schema.name
        whole = FoundKind(name=name, kind=None, items=tuple(items), words=_own_words(items, sample))
        return FoundKinds(kinds=(whole,), checks=checks + doubts)
    told_as = _separate(words[best])
    groups = _grouped(range(len(items)), [told_as[word] for word in words[best]])
    kinds: list[FoundKind] = []
    for word, numbers in groups.items():
        group = [items[number] for number in numbers]
        mixed = {tuple(words[each][number] for each in keys.names) for number in numbers}
        doubts = ()
        if len(mixed) > 1:
            shapes = " and ".join(sorted(" ".join(filter(None, each)) for each in mixed))
            doubts = (f"keys of several shapes ({shapes}), perhaps several kinds: {best} tells them as one",)
        kinds.append(
            FoundKind(
                name=_name(word, numbers, best, words, keys),
                kind=word,
                items=tuple(group),
                words=_own_words(group, sample) | _common_words(numbers, words) | {best: word},
                checks=doubts,
            )
        )
    return FoundKinds(kinds=_ordered(kinds), discriminator=best, is_prefix=True, checks=checks)


def _by_both_keys(
    sample: Sample,
    items: Sequence[WireItem],
    words: Mapping[str, Sequence[str]],
    checks: tuple[str, ...],
    *,
    by_middles: bool,
) -> FoundKinds | None:
    """Return the kinds by the words of all keys, where each item has one; else None."""
    keys = sample.schema.keys.names
    parts = [
        (name, place, each)
        for name in keys
        for place, each in (
            ("begin", words[name]),
            *(("middle", each) for each in (_middles(items, name, words[name]) if by_middles else ())),
            ("end", _ends(items, name, words[name])),
        )
    ]
    frames = [*zip(*(each for _, _, each in parts), strict=True)]
    for looked_at in ("end", "middle", "begin"):
        for number, (_, place, _) in enumerate(parts):
            if place == looked_at:
                frames = _without_values(items, frames, number, {*keys})
    groups = _grouped(range(len(items)), frames)
    if not all(map(any, groups)) or len(groups) > _MOST_KINDS:
        return None
    kinds: list[FoundKind] = []
    for frame, numbers in groups.items():
        group = [items[number] for number in numbers]
        begun, middles, ends = (
            [(name, word) for (name, place, _), word in zip(parts, frame, strict=True) if word and place == wanted]
            for wanted in ("begin", "middle", "end")
        )
        kinds.append(
            FoundKind(
                name=" ".join(filter(None, dict.fromkeys(frame))),
                kind=None,
                items=tuple(group),
                words=_own_words(group, sample) | dict(begun),
                middles={key: tuple(word for name, word in middles if name == key) for key, _ in middles},
                ends=dict(ends),
            )
        )
    return FoundKinds(kinds=_ordered(kinds), by_keys=True, checks=checks)


def _ends(items: Sequence[WireItem], name: str, begun: Sequence[str]) -> list[str]:
    """Return the word that an attribute ends with in each item, behind a value; empty where it ends with a value."""
    return _of_design(items, [_end(text_of(item, name) or "", word) for item, word in zip(items, begun, strict=True)])


def _middles(items: Sequence[WireItem], name: str, begun: Sequence[str]) -> list[list[str]]:
    """Return the words that stand between two values of an attribute: for each place that of each item, or empty."""
    found = [
        _BETWEEN.findall((text_of(item, name) or "").removeprefix(word))[:_MOST_BETWEEN] if word else []
        for item, word in zip(items, begun, strict=True)
    ]
    return [_of_design(items, each) for each in zip_longest(*found, fillvalue="")]


def _of_design(items: Sequence[WireItem], words: Sequence[str]) -> list[str]:
    """Return the words of keys that stand behind a value; empty where they are values themselves.

    Names of people are words too; a design has few words, and each stands in several items.
    """
    known = {*words} - {""}
    if len(known) > _FEW or sum(map(bool, words)) < 2 * len(known) or _is_value(items, [w.strip("#|") for w in words]):
        return [""] * len(items)
    return [*words]


def _without_values(
    items: Sequence[WireItem], frames: Sequence[tuple[str, ...]], place: int, ignored: set[str]
) -> list[tuple[str, ...]]:
    """Return the beginnings and ends of keys, without words that are values: the items with them are alike.

    Args:
        frames: what the keys of each begin and end with.
        place: which of these words.
        ignored: the attributes that do not count.
    """
    values: set[int] = set()
    others = [(*frame[:place], *frame[place + 1 :]) for frame in frames]
    for other, numbers in _grouped(range(len(items)), others).items():
        own = [frames[number][place] for number in numbers]
        if any(other) and _are_of_one_kind([items[number] for number in numbers], own, ignored, least=1):
            values.update(numbers)
    return [
        (*frame[:place], "", *frame[place + 1 :]) if number in values else frame for number, frame in enumerate(frames)
    ]


def _common_words(numbers: Sequence[int], words: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return key attribute -> the word that it begins with in all items, if there is one."""
    found = {name: {each[number] for number in numbers} for name, each in words.items()}
    return {name: each.pop() for name, each in found.items() if len(each) == 1 and each != {""}}


def _text_keys(sample: Sample) -> Iterator[str]:
    for index in sample.schema.indexes:
        yield from (key.name for key in index.keys.attributes if key.type == "S")


def _words(items: Sequence[WireItem], name: str, keys: KeySchema) -> list[str]:
    """Return the constant word that an attribute begins with in each item; empty where it begins with a value."""
    texts = [text_of(item, name) or "" for item in items]
    if re.search(r"[^A-Za-z0-9_]", name):  # a name such as Status#Date says which values stand in it
        return [""] * len(items)
    found = [_begin(text) for text in texts]
    if name not in keys.names[1:]:  # an id may begin with a v, but a sort key with one beside words has versions
        found = ["" if word in VERSIONS else word for word in found]
    begun = _constants(items, found, texts)
    if name != keys.names[0] and _are_of_one_kind(items, begun, {*keys.names}):
        begun = [""] * len(items)
    whole = _repeated(items, texts, begun, name, keys)
    return [word or constant for word, constant in zip(begun, whole, strict=True)]


def _begin(text: str) -> str:
    found = _BEGUN.match(text)
    return found[0] if found else ""


def _end(text: str, begun: str) -> str:
    """Return the word that a text may end with, if a value stands between it and the word that it begins with."""
    found = _ENDED.search(text.removeprefix(begun)) if begun else None
    return "" if found is None else found[0]


def _constants(items: Sequence[WireItem], begun: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the beginnings of texts that are constants of the design, not values."""
    groups = _grouped(range(len(items)), begun)
    groups.pop("", None)
    count, several = len(groups), [len({texts[n] for n in numbers}) > 1 for numbers in groups.values()]
    some = sum(map(len, groups.values()))
    plausible = count <= _FEW or count <= min(_MOST_KINDS, some // 5)
    if not plausible or (count > 2 and not any(several)) or _is_value(items, [word[:-1] for word in begun]):
        return [""] * len(items)
    # "_", "-" and "@" are in names and ids too, so that words before them need more items to count.
    weak = [word for word in groups if word[-1] in "@_-"]
    if weak and any(len(groups[word]) < 3 for word in weak):
        return [word if word not in weak else "" for word in begun]
    return [*begun]


def _are_of_one_kind(items: Sequence[WireItem], begun: Sequence[str], ignored: set[str], least: int = 2) -> bool:
    """Return whether items have the same attributes, enough of them, whatever word their keys begin with."""
    groups = _grouped(items, begun)
    cores = [_core(group, ignored) for group in groups.values()]
    return len(groups) > 1 and len(cores[0]) >= least and all(_jaccard(cores[0], each) >= _SHARE for each in cores)


def _is_value(items: Sequence[WireItem], words: Sequence[str]) -> bool:
    """Return whether words of keys are values: they differ, and are also in an attribute of their own."""
    pairs = [(item, word) for item, word in zip(items, words, strict=True) if word]
    if len({word for _, word in pairs}) < 2:
        return False
    names = [name for name in pairs[0][0] if "".join(words_of(name)) not in _MARKERS]
    return any(all(text_of(item, name) == word for item, word in pairs) for name in names)


def _repeated(
    items: Sequence[WireItem], texts: Sequence[str], begun: Sequence[str], name: str, keys: KeySchema
) -> list[str]:
    """Return whole texts that are constants: they are in several partitions, on items unlike the others.

    Where only one partition begins as theirs does, one is enough, if other texts of the key begin with words.
    """
    free = ["" if word or not _WORD.fullmatch(text) else text for text, word in zip(texts, begun, strict=True)]
    groups = _grouped(range(len(items)), free)
    others = groups.pop("", [])
    rest = [items[n] for n in others if not begun[n]]
    partition = keys.names[0]
    ignored = {*keys.names}
    core = _core(rest, ignored) if rest else None
    alike = _partitions_alike(items, partition) if any(begun) and name != partition else None
    found: dict[str, frozenset[str]] = {}
    lonely: list[str] = []
    for text, numbers in groups.items():
        partitions = len({str(items[n][partition]) for n in numbers})
        if partitions < min(2, len(numbers) if name == partition else 2):
            if alike is None or any(alike[n] > 1 for n in numbers):
                continue
            lonely.append(text)
        found[text] = _core([items[n] for n in numbers], ignored)
    if lonely and len({*found.values()}) < len(found):  # alike in their attributes: names, perhaps
        found = {text: core for text, core in found.items() if text not in lonely}
    alone = [text for text in groups if text not in found]
    if core is None and alone:
        core = _core([items[n] for text in alone for n in groups[text]], ignored)
    words = {text for text, own in found.items() if core is None or _jaccard(own, core) < _SHARE}
    if core is None and not any(begun) and _are_values([*found.values()], of_index=name not in keys.names):
        words.clear()
    return [text if text in words else "" for text in free]


def _partitions_alike(items: Sequence[WireItem], partition: str) -> list[int]:
    """Return for each item how many partitions begin and end as its own."""
    texts = [text_of(item, partition) or "" for item in items]
    frames = [(begun := _begin(text), _end(text, begun)) for text in texts]
    groups = _grouped(texts, frames)
    return [len({*groups[frame]}) for frame in frames]


def _are_values(cores: Sequence[frozenset[str]], *, of_index: bool) -> bool:
    """Return whether items with different texts have like attributes, so that the texts are values.

    In the key of an index that may be a state, on which an attribute of its own depends.
    """
    if len({*cores}) < len(cores):
        return True
    return of_index and any(_jaccard(one, other) >= _ALIKE for n, one in enumerate(cores) for other in cores[:n])


def _separate(words: Iterable[str]) -> dict[str, str]:
    """Return word -> the shortest word that it begins with, since no kind may begin with another."""
    known = sorted(set(words), key=len)
    return {word: next(each for each in known if word.startswith(each)) for word in known}


def _undivided(items: Sequence[WireItem], words: Mapping[str, Sequence[str]], keys: KeySchema) -> tuple[str, ...]:
    shapes = Counter(tuple(words[name][n] for name in keys.names) for n in range(len(items)))
    if len(shapes) > 1:
        shown = ", ".join(f"{' '.join(filter(None, shape)) or 'no word'}: {n:,}" for shape, n in sorted(shapes.items()))
        return (f"keys begin in several ways ({shown}), but no attribute tells all kinds: one model reads all",)
    groups = _clusters(items, {*keys.names})
    if len(groups) > 1:
        counts = " and ".join(f"{n:,}" for n in groups)
        return (f"groups of {counts} items differ in their attributes, and nothing tells them: one model reads all",)
    return ()


def _values_or_kinds(items: Sequence[WireItem], words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, found in words.items():
        begun = {_begin(text_of(item, name) or "") for item in items} - {""}
        if 1 < len(begun) <= _FEW and not any(found) and not re.search(r"[^A-Za-z0-9_]", name):
            yield f"{name} begins with one of {len(begun)} words: taken for values, but they may tell kinds"


def _clusters(items: Sequence[WireItem], ignored: set[str]) -> list[int]:
    """Return the sizes of the groups of items with like attributes, the largest first."""
    sets = Counter(frozenset(item) - ignored for item in items)
    groups: list[tuple[frozenset[str], int]] = []
    for names, count in sorted(sets.items(), key=lambda each: (-each[1], sorted(each[0]))):
        for place, (other, size) in enumerate(groups):
            # Optional attributes make many sets of one kind, of which the smaller are part of the larger.
            if _jaccard(names, other) >= _ALIKE or names <= other or other <= names:
                groups[place] = (names | other, size + count)
                break
        else:
            groups.append((names, count))
    return [size for _, size in groups]


def _name(word: str, numbers: Sequence[int], told: str, words: Mapping[str, Sequence[str]], keys: KeySchema) -> str:
    """Return the name of a kind: its word, or that of its partition if it has no constant."""
    if word in VERSIONS:
        return "version"
    partition = keys.names[0]
    own = {words[partition][n] for n in numbers}
    if word[-1] in SEPARATORS or told == partition or len(own) != 1 or own == {""}:
        return word
    same = {words[told][n] for n, each in enumerate(words[partition]) if {each} == own}
    return own.pop() if len(same) == 1 else word


def _own_words(items: Sequence[WireItem], sample: Sample) -> dict[str, str]:
    """Return the constant that each text key of one kind's items begins with."""
    found: dict[str, str] = {}
    for name in (*sample.schema.keys.names, *_text_keys(sample)):
        texts = [text for item in items if (text := text_of(item, name)) is not None]
        begun = {_begin(text) for text in texts}
        several = len(set(texts)) > 1 or len(texts) == 1
        if len(begun) == 1 and begun != {""} and several and not re.search(r"[^A-Za-z0-9_]", name):
            [word] = begun
            if word[-1] not in "@_-" and word not in VERSIONS and not _is_common_value(items, word[:-1]):
                found[name] = word
    return found


def _is_common_value(items: Sequence[WireItem], word: str) -> bool:
    """Return whether all items also have a word in an attribute: it may be a value of which only one was seen."""
    return any(all(text_of(item, name) == word for item in items) for name in items[0])


def _grouped(items: Iterable[T], words: Iterable[WordT]) -> dict[WordT, list[T]]:
    groups: dict[WordT, list[T]] = {}
    for item, word in zip(items, words, strict=True):
        groups.setdefault(word, []).append(item)
    return groups


def _core(items: Sequence[WireItem], ignored: set[str]) -> frozenset[str]:
    counts = Counter(name for item in items for name in item)
    return frozenset(name for name, n in counts.items() if n > len(items) / 2) - ignored


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _ordered(kinds: Iterable[FoundKind]) -> tuple[FoundKind, ...]:
    return tuple(sorted(kinds, key=lambda each: (-len(each.items), each.name)))
