"""Strings that do harm where they are printed or written as they are."""

CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SURROGATE = "half \ud800 a character \udcff"
"""No file in UTF-8 can have it; names of files can."""

DANGEROUS = [
    CONTROLS,
    BIDI,
    "\x1b[31mred \x1b]0;title\x07 \x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\",
    "\x9b2J \x9d0;title\x9c",
    "\r\u2028\u2029\ufffe\uffff\u200b\ufeff",
    "[click](javascript:alert(1)) ![image](javascript:alert(1) 'title')",
    "<javascript:alert(1)> <https://evil.example> https://evil.example www.evil.example",
    "[reference]: javascript:alert(1)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</title></style></pre></svg></td><script>alert(1)</script>",
    "\"><a href='javascript:alert(1)' onclick=alert(1)>",
    "' onload='alert(1)",
    "<!-- <![CDATA[ ]]> --> <?php ?> &#60;script&#62; &lt;b&gt; &amp; &nosuch;",
    "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "12) item",
    "> quote",
    "---",
    "===",
    "***bold*** __bold__ ~~gone~~ `code` ``",
    "```\nfence\n```",
    "~~~\nfence",
    "a | b \\| c \\",
    "\\[a](b) \\\\`x` \\",
    "line\n\nparagraph\n# heading\n| a |\n|---|",
    "    code",
    "\tcode",
    "[red]markup[/red] [link=javascript:alert(1)]link[/link] [/] :skull: {{ 7 * 7 }} {% raw %}",
    "$(touch evil) `touch evil`; rm -rf ~ # '\" && !!",
    "x" * 5000,
]
