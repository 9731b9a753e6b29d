"""The look of the report of studies: one style sheet, light, dark and printed."""

__all__ = ["STYLE"]

LIGHT = """
  --paper: #ffffff; --ground: #f4f5f7; --ink: #1b2330; --soft: #566073; --rule: #dde1e8; --band: #f4f6fa;
  --better: #005a8c; --worse: #a83f00;
"""
DARK = """
  --paper: #181d26; --ground: #10141b; --ink: #e8ebf1; --soft: #a5afc0; --rule: #2f3846; --band: #1e2530;
  --better: #6cbcf0; --worse: #f5a36c;
"""

STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
* {{ box-sizing: border-box; }}
body {{
  margin: 0; padding: 2.5rem 1rem 4rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}}
main {{ max-width: 64rem; margin: 0 auto; }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 0 0 .35rem; }}
h2 {{ font-size: 1.25rem; line-height: 1.3; margin: 0 0 .5rem; }}
h3 {{ font-size: 1.02rem; margin: 1.5rem 0 .5rem; }}
p {{ margin: 0 0 .8rem; max-width: 48rem; }}
ul {{ margin: 0 0 .8rem; padding-left: 1.2rem; max-width: 48rem; }}
li + li {{ margin-top: .25rem; }}
p:last-child, ul:last-child {{ margin-bottom: 0; }}
header .lead {{ color: var(--soft); margin-bottom: 1.5rem; }}
.note {{ color: var(--soft); font-size: .88rem; }}
section {{
  background: var(--paper); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1.5rem; margin: 0 0 1.25rem;
}}
sub {{ line-height: 0; }}
figure {{ margin: 0 0 1rem; }}
figcaption {{ color: var(--soft); font-size: .88rem; max-width: 48rem; margin-top: .4rem; }}
.scroll {{ overflow-x: auto; margin-bottom: .8rem; }}
.chart {{ display: block; width: 100%; height: auto; min-width: 38rem; }}
.chart.narrow {{ max-width: 42rem; min-width: 26rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .9rem; overflow-wrap: normal; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--rule); }}
thead th {{ vertical-align: bottom; color: var(--soft); font-weight: 600; }}
tbody th {{ font-weight: 500; white-space: nowrap; }}
.facts tbody th {{ white-space: normal; width: 20rem; }}
.first > * {{ border-top: 2px solid var(--rule); }}
tbody tr:last-child > * {{ border-bottom: 0; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.ours {{ font-weight: 600; white-space: nowrap; }}
.paper, .difference {{ font-size: .8rem; white-space: nowrap; color: var(--soft); }}
.judged .ours {{ display: block; line-height: 1.35; }}
th[scope=rowgroup] {{ border-bottom: 0; }}
.text td.number {{ text-align: left; }}
.text thead th.number {{ text-align: left; }}
.text .ours {{ font-weight: 400; white-space: normal; }}
.difference.better {{ color: var(--better); font-weight: 600; }}
.difference.worse {{ color: var(--worse); font-weight: 600; }}
details {{ margin: 0 0 1rem; }}
summary {{ cursor: pointer; color: var(--soft); font-size: .92rem; }}
details > div {{ margin-top: .5rem; }}
footer {{ color: var(--soft); font-size: .85rem; padding: 0 .2rem; }}
@media screen and (max-width: 36rem) {{
  body {{ padding: 1.25rem .6rem 2.5rem; }}
  section {{ padding: 1.1rem; }}
  .facts tbody th {{ width: 9rem; }}
  .judged td.number span {{ display: block; line-height: 1.35; }}
}}
@media print {{
  body {{ padding: 0; background: none; font-size: 10pt; }}
  section {{ border: 0; border-top: 1px solid var(--rule); border-radius: 0; padding: 1rem 0; }}
  .scroll {{ overflow: visible; }}
  .chart {{ min-width: 0; }}
  figure, tr {{ break-inside: avoid; }}
  h2, h3 {{ break-after: avoid; }}
}}
"""
