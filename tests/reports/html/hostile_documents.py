"""Ten documents for each construct that is laid out, which try to be more than text, or to keep a reader busy."""

from collections.abc import Mapping, Sequence

RUN = "window.ran=1"
WEB = "https://evil.example"
RUNS = f"<script>{RUN}</script><img src=x onerror='{RUN}'><svg onload={RUN}>"

MARKDOWN = (
    RUNS,
    f"# <img src=x onerror={RUN}>\n\n**<script>{RUN}</script>**\n\n> <iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<style>body{{display:none}}</style>\n<link rel=stylesheet href={WEB}/a.css>\n<base href={WEB}>\n<meta http-equiv=refresh content='0;{WEB}'>",
    f"</div></main></body><form action={WEB}><input name=a autofocus onfocus={RUN}></form>",
    "<div id=main class=hidden style='position:fixed;inset:0'>over all of it</div> {#main .hidden style=color:red}",
    "> " * 2_000 + "deep",
    "*a **b " * 3_000 + "c** d*" * 3_000,
    "[" * 8_000 + "![" * 4_000,
    f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;script&#62;{RUN}&#60;/script&#62; &#x202e;drow &NewLine;&Tab;&amp;lt;",
    f"a\x00b\x1b[2J\u202egnp.exe\u202c\u200b\ufeff\u2028\U000e0041 \ud800 \U000f003cscript\U000f003e{RUN}",
)

LINKS = (
    f"[a](javascript:{RUN}) [b](JaVaScRiPt:{RUN}) [c](<javascript:{RUN}>)",
    f"[a](java\tscript:{RUN}) [b](java&#x0a;script:{RUN}) [c](&#106;avascript:{RUN}) [d](java\u200bscript:{RUN})",
    f"<javascript:{RUN}> <data:text/html,<script>{RUN}</script>> <vbscript:x>",
    f"[a](data:text/html;base64,PHNjcmlwdD53aW5kb3cucmFuPTE8L3NjcmlwdD4=) [b](blob:{WEB}/x) [c](file:///etc/passwd)",
    f'[a]({WEB}/"onmouseover="{RUN}) [b]({WEB} "\\" onmouseover=\\"{RUN}") [c](<{WEB}/\' onfocus=\'{RUN}>)',
    "[a](/labels?withdraw=1) [b](//evil.example/x) [c](\\\\evil.example) [d](#main) [e](?token=x) [f](https:/x)",
    f"[x]: javascript:{RUN} 'title'\n\n[x] [x][] [click][x]\n\n[y]: {WEB}/y\n[y]",
    "[google.com](https://evil.example/google.com) [a](https://google.com@evil.example) [b](https://evil.example/\u202egnp)",
    "[a](" * 3_000 + f"[b]({WEB}/" + "(" * 40 + "x" * 30_000 + ")",
    f"[![x]({WEB}/i.png)](javascript:{RUN}) [**<b>** `<i>`]({WEB}/?a=1&lt=2&copy;=3)",
)

IMAGES = (
    f"![a]({WEB}/track.gif)",
    f'![a]({WEB}/x.png "t\\" onload=\\"{RUN}") ![b](x onerror={RUN}) ![c](<x" onerror="{RUN}>)',
    f"![a](data:image/svg+xml,<svg onload={RUN}>) ![b](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    f"![a](javascript:{RUN}) ![b](//evil.example/x.png) ![c](/favicon.ico) ![d](file:///etc/passwd)",
    f"<img src={WEB}/x.png> <picture><source srcset={WEB}/y.png></picture> <video src={WEB}/v poster={WEB}/p></video>",
    f"![a][i]\n\n[i]: {WEB}/ref.png",
    "![" * 2_000 + "x" + f"]({WEB}/x.png)" * 1_000,
    f"[![a]({WEB}/1.png)]({WEB}/2) ![![b]({WEB}/3.png)]({WEB}/4.png)",
    f"![<img src={WEB}/alt.png onerror={RUN}>]({WEB}/5.png)",
    "![long](data:image/png;base64," + "A" * 150_000 + ")",
)

FORMULAS = (
    rf"$\text{{<script>{RUN}</script>}}$ $\text{{<img src=x onerror={RUN}>}}$ \(\mbox{{</math><script>{RUN}</script>}}\)",
    rf"$\href{{javascript:{RUN}}}{{x}}$ $\url{{{WEB}}}$ $\includegraphics{{{WEB}/x.png}}$ $\class{{hidden}}{{x}}$",
    r"$\style{position:fixed;inset:0;background:url(https://evil.example)}{x}$ $\color{red;background:url(x)}{y}$ $\id{main}{z}$",
    r"$$\def\a{\b\b\b\b\b\b\b\b\b\b}\def\b{\c\c\c\c\c\c\c\c\c\c}\def\c{xxxxxxxxxx}\a$$ $\newcommand{\x}{\x\x}\x$ $\let\y\y\y$",
    "$" + "{" * 900 + "x" + "}" * 900 + "$ $" + r"\sqrt" * 300 + " x$ $" + "x^" * 600 + "x$",
    "$" + r"\frac{1}" * 200 + "$ $" + "\\begin{matrix}" * 100 + "$ $" + "&" * 1_900 + "$",
    r"\(" * 6_000 + r"\[" * 3_000 + "$$" * 3_001,
    r"$\hspace{9999em}\rule{9999em}{9999em}\kern-99em\raise99em\hbox{over}\phantom{hidden}\rlap{over}$ $a % hidden$",
    f"$$\n<style>*{{display:none}}</style>\n</annotation></semantics></math><script>{RUN}</script>\n$$\n\\[ \\verb|<script>{RUN}</script>| \\]",
    "$x_1$ " * 1_500 + "\n\n" + "$a$ \u202e$\u202e\x00b$",
)

CODE = (
    f"```html\n{RUNS}\n</code></pre></div><script>{RUN}</script>\n```",
    f'```"><script>{RUN}</script> onclick={RUN}\nx\n```\n~~~ js" class="hidden\n{RUN}\n~~~',
    f"`<script>{RUN}</script>` ``</code><img src=x onerror={RUN}>``",
    f"    <script>{RUN}</script>\n    </pre>\n\n```python\nprint('<b>')  # \u202e </span><script>{RUN}</script>\n```",
    "```python\n" + "(" * 1_900 + "\n" + "'" * 1_900 + "\n" + '"""' * 600 + "\n" + "f'{" * 500 + "\n```",
    "```python\nnever closed\n" + "x = 1\n" * 20_000,
    "".join("`" * length + " " for length in range(400)),
    "```\n" * 5_000,
    "".join(
        f"```{name}\n" + "a" * 1_500 + "\\" * 400 + "$(" * 400 + "/*" * 400 + "\n```\n"
        for name in ("bash", "sql", "r", "js", "cpp", "java", "json", "c")
    ),
    "```mermaid\ngraph TD; a-->b\n```\n```{=html}\n" + RUNS + "\n```\n```math\n\\href{javascript:x}{y}\n```",
)

CHINESE = (
    f"姓名  城市\n张三  <script>{RUN}</script>\n欧阳修  <img src=x onerror={RUN}>",
    "".join("表" * 999 + " " * (number % 7) + "x\n" for number in range(300)),
    "中" * 200_000,
    ("中 " * 499 + "\n") * 400,
    f"| 姓名 | 值 |\n|---|---|\n| <b onmouseover={RUN}>张</b> | [链接](javascript:{RUN}) |\n| ![图]({WEB}/图.png) | $中^{{文}}$ |",
    "中\u202e文\u200b字\u0301\u0301\u0301\ufeff　全角　空格\n" * 50,
    "中" + "\u0301" * 20_000 + "\nab",
    f"```\n姓名  值\n张三   1\n</pre><script>{RUN}</script>\n```",
    "中文：**强调**后文[链接](https://例子.测试/路径?查询=值)。<https://例子.测试/>",
    "ｗｉｄｅ ｌｅｔｔｅｒｓ＜script＞ ﹤img src=x onerror=1﹥ 한글 かな\n" * 20,
)

TABLES = (
    f"<table><tr><td><script>{RUN}</script>{RUNS}</td></tr></table>",
    f"<style>body{{display:none}} td{{background:url({WEB})}}</style><table class=hidden id=main style='position:fixed;inset:0'><tr><td style='background:url({WEB}/s)'>a</td></tr></table>",
    f"<table background={WEB}/t.png><tr onclick={RUN}><td onmouseover={RUN} background={WEB}/d.png><a href=javascript:{RUN}>a</a><img src={WEB}/i.png></td></tr></table>",
    "<table><tr>" + "<td>1</td>" * 10_000 + "</tr></table>",
    "<table><tr><td>" * 3_000 + "deep",
    "<table><tr><td colspan=999999999 rowspan=999999999>a</td><td colspan=-1>b</td></tr></table>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'></table>",
    f"<svg><p><style><g title='</style><img src onerror={RUN}>'></svg><noscript><p title='</noscript><img src=x onerror={RUN}>'><table><tr><td>x",
    f"<table><form action={WEB}><input autofocus onfocus={RUN}><button formaction=javascript:{RUN}>b</button></form><iframe srcdoc='<script>{RUN}</script>'></iframe><object data={WEB}></object><embed src={WEB}><template><script>{RUN}</script></template>",
    f"<table><caption>\u202ecaption &#x202e;</caption><tr><th>a</th><td>&lt;script&gt;{RUN}&lt;/script&gt; \x00 {{{{7*7}}}}</td></tr></table>"
    + "<div>" * 200,
)

DOCUMENTS: Mapping[str, Sequence[str]] = {
    "markdown": MARKDOWN,
    "links": LINKS,
    "images": IMAGES,
    "formulas": FORMULAS,
    "code": CODE,
    "chinese": CHINESE,
}
"""Of what models write, read as Markdown. `TABLES` are of what tools give as HTML."""
assert all(len(documents) == 10 for documents in (*DOCUMENTS.values(), TABLES))
