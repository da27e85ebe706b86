"""EDN of other programs: what the grammar says, and an error with its line for all else."""

import io
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.typed_values import Items
from rumpus.results.formats import edn
from rumpus.results.formats.edn import MAX_DIGITS, MalformedEdn, read_forms


def forms(text):
    content = text if isinstance(text, bytes) else text.encode()
    return [form for _, form in read_forms(io.BytesIO(content))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nil true false", [None, True, False]),
        ("12 -3 +4 12N 0x1F 0 010.5", [12, -3, 4, 12, 31, 0, 10.5]),
        ("1.5 1e3 -2. 1.5M 1/2 4/2", [1.5, 1000.0, -2.0, Decimal("1.5"), Fraction(1, 2), 2]),
        ("##Inf ##-Inf", [math.inf, -math.inf]),
        (r'"a\n\"\\\u00e9\ud83d\ude00\101" "two\nlines"', ['a\n"\\é😀A', "two\nlines"]),
        ('"over\nlines"', ["over\nlines"]),
        (r"\a \newline \u00e9 \( \o101 \é", ["a", "\n", "é", "(", "A", "é"]),
        (
            ":ok :a/b ::c read a/b nilly - + ...",
            ["ok", "a/b", "c", "read", "a/b", "nilly", "-", "+", "..."],
        ),
        ("1 [1, [2 (3)] #{} {}]", [1, [1, [2, [3]], frozenset(), {}]]),
        ("{:a 1, [1] 2} #{[1] {:b 2}}", [{"a": 1, (1,): 2}, frozenset({(1,), Items([("b", 2)])})]),
        ('#inst "2026" #uuid"x" #a.b.C{:d 1}', ["2026", "x", {"d": 1}]),
        (
            '1 #object[java.lang.Foo 0x1f "foo"] #:ns{:a 1}',
            [1, ["java.lang.Foo", 31, "foo"], {"a": 1}],
        ),
        ('#<Exception no: way> #"a\\d"', ["Exception no: way", "a\\d"]),
        ("#_ 1 2 #_ #_ 3 4 #_ [5 {:a 6}] 7", [2, 7]),
        ("1 #tag #_ 2 3 #_", "ends inside"),
        ('^{:m 1} [2] ^:private x #^String y ^:a ^"b" z', [[2], "x", "y", "z"]),
        ("; all\n;of\n1;this\n,,2", [1, 2]),
        ("[1 2 #_ 3]", [1, 2]),
        (" ; a history\n(\n1 2 ; more\n)\n; end", [1, 2]),
        ("#jepsen.history.DenseHistory [{:a 1}]", [{"a": 1}]),
        ("", []),
        ("[]", []),
        (b"1\r\n2\r\n", [1, 2]),
    ],
)
def test_reads(text, expected):
    if isinstance(expected, str):
        with pytest.raises(MalformedEdn, match=expected):
            forms(text)
    else:
        found = forms(text)
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))


def test_what_is_not_a_number_is_not_compared():
    assert math.isnan(forms("##NaN")[0])


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("[1\n2", 2, "the file ends before its last ']': it was cut off"),
        ("1 2\n {:a\n [1", 2, "the file ends inside what begins here: it was cut off"),
        ('1\n{:a "b', 2, "the file ends inside a string that begins here"),
        ("[1] 2", 1, "more after the end"),
        ("1\n}", 2, "closes nothing"),
        ("1 [}", 1, "closes nothing"),
        ("1 [#tag]", 1, "closes nothing"),
        ("1 (^a)", 1, "closes nothing"),
        ("{:a 1\n :b}", 2, "a key without a value"),
        ("{:a 1 :a 2}", 1, "a key twice"),
        ("\n\n12ab", 3, "'12ab' is no number"),
        ("1/0", 1, "is no number"),
        ("010", 1, "'010' begins with 0: Clojure reads an octal number"),
        ("-08N", 1, "begins with 0"),
        ("1e99999999999999999999M", 1, "is no number"),
        (":", 1, "a colon by itself"),
        ('[{"index":0,"time" : 1}]', 1, "a colon by itself"),
        (r'"\q"', 1, "is no escape"),
        (r'"\ud800"', 1, "half a character"),
        (r"\ud800", 1, "half a character"),
        (r"\newlin", 1, "is no character"),
        ("1\n\x00", 2, "is no EDN"),
        ("1 [2\n\x07]", 2, "is no EDN"),
        ("#", 1, "is no EDN"),
        ("##Foo", 1, "is no EDN"),
        (b'1\n"\xff"', 2, "it is not UTF-8"),
        (b"1\n\xc3", 2, "it is not UTF-8"),
        ("1\n" + "[" * 100_000, 2, "nested more than 64 deep"),
        ("1\n" + "#_" * 100_000, 2, "nested more than 64 deep"),
        ("1\n" + "#{" * 63 + "1" + "}" * 62, 2, "ends inside"),
        ("1\n" + "9" * (MAX_DIGITS + 1), 2, "a number is longer"),
        ("0x" + "f" * 10**6, 1, "a number is longer"),
        ("1." + "0" * 10**6, 1, "a number is longer"),
        (f"1\n{1 << 64}", 2, "a number has more than 64 bits"),
        ("0x1ffffffffffffffff", 1, "a number has more than 64 bits"),
        (f"1/{1 << 30}", 1, "a number has more than 30 bits"),
        (f"{1 << 65}/2 -{1 << 66}/2", 1, "a number has more than 64 bits"),
        ("1.234567890123456789M", 1, "a decimal has more than 18 digits"),
        ("1e19M", 1, "a decimal has more than 18 digits"),
    ],
    ids=range(39),
)
def test_refuses_with_the_line(text, line, why):
    with pytest.raises(MalformedEdn, match=why.replace("]", r"\]")) as error:
        forms(text)
    assert error.value.line == line


@pytest.mark.parametrize(
    "text", ['"' + "x" * 500 + '"', "x" * 500, "[" + "1 " * 300 + "]", "#<" + "x" * 500 + ">"]
)
@pytest.mark.parametrize("before", ["", "[1 2]\n", "1\n" * 300])
def test_a_form_beyond_the_limit_is_refused_and_not_held(monkeypatch, text, before):
    monkeypatch.setattr(edn, "MAX_FORM", 200)
    file = io.BytesIO((before.replace("[", "").replace("]", "") + "nil " + text * 9).encode())
    with pytest.raises(MalformedEdn, match="longer than 200 characters"):
        list(read_forms(file))
    assert file.tell() <= len(before) + 4 * 200


def test_a_window_moves_over_a_file_of_any_length(monkeypatch):
    monkeypatch.setattr(edn, "MAX_FORM", 50)
    text = "[" + "\n".join(f'{{:n {n} :s "é{n}"}} ; {"-" * n}' for n in range(100)) + "\n]"
    found = list(read_forms(io.BytesIO(text.encode())))
    assert [form for _, form in found] == [{"n": n, "s": f"é{n}"} for n in range(100)]
    assert [line for line, _ in found] == list(range(1, 101))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64) + 1, 2**64 - 1)
    | st.text('ab :\\"\n{[é', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


def written(value):
    match value:
        case None:
            return "nil"
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list():
            return f"[{' '.join(map(written, value))}]"
        case dict():
            return f"{{{', '.join(f':{key} {written(each)}' for key, each in value.items())}}}"
    return str(value)


@pytest.mark.parametrize("values", ['""', "1 ", "[]", "#_1 2 ", "^a b ", '#t "x"'])
def test_a_form_with_very_many_values_is_refused(monkeypatch, values):
    """Eight million empty strings fit into a form, and cost what a whole history costs."""
    monkeypatch.setattr(edn, "MAX_VALUES", 300)
    assert len(forms(f"{{:a 1}} {{:a [{values * 90}]}}")) == 2
    with pytest.raises(MalformedEdn, match=r"line 2: a record has more than 300 values"):
        forms(f"{{:a 1}}\n{{:a [{values * 301}]}}")


@given(PLAIN)
def test_what_is_written_is_read(value):
    assert forms(f"nil {written(value)}") == [None, value]


@given(
    st.binary(max_size=40)
    | st.text(alphabet='{}[]()#_^"\\:;, \n01a/.-NMe', max_size=40).map(str.encode)
)
def test_any_bytes_are_forms_or_malformed(content):
    try:
        found = len(forms(content))
    except MalformedEdn as error:
        assert 1 <= error.line <= content.count(b"\n") + 1  # noqa: PT017 - most of them are
    else:
        assert found <= len(content)
