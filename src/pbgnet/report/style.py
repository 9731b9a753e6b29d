"""The look of the report: one style sheet, light, dark and printed."""

__all__ = ["STYLE"]

LIGHT = """
  --paper: #ffffff; --ground: #f4f5f7; --ink: #1b2330; --soft: #566073; --rule: #dde1e8;
  --certified: #1a56b8; --measured: #6690d2; --held-out: #b45309; --trivial: #8a93a2; --wrong: #b3261e;
  --band: #f4f6fa; --good: #17693b; --good-ground: #e7f4ec; --warn: #8a4600; --warn-ground: #fdf1e3;
"""
DARK = """
  --paper: #181d26; --ground: #10141b; --ink: #e8ebf1; --soft: #a5afc0; --rule: #2f3846;
  --certified: #6ea8ff; --measured: #4f7cc0; --held-out: #f0a04b; --trivial: #727d90; --wrong: #ff8a80;
  --band: #1e2530; --good: #7fd6a2; --good-ground: #16291f; --warn: #f5b971; --warn-ground: #2d2216;
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
main {{ max-width: 62rem; margin: 0 auto; }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 0 0 .35rem; letter-spacing: -.01em; }}
h2 {{ font-size: 1.2rem; line-height: 1.3; margin: 0 0 .5rem; }}
h3 {{ font-size: 1rem; margin: 0 0 .6rem; }}
p {{ margin: 0 0 .8rem; max-width: 46rem; }}
p:last-child, ul:last-child {{ margin-bottom: 0; }}
ul {{ margin: 0 0 .8rem; padding-left: 1.2rem; max-width: 46rem; }}
li + li {{ margin-top: .4rem; }}
header .lead {{ color: var(--soft); margin-bottom: 1.5rem; }}
.note {{ color: var(--soft); font-size: .9rem; }}
section {{
  background: var(--paper); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1.5rem; margin: 0 0 1.25rem;
}}
.statement {{ border-top: 4px solid var(--certified); }}
.statement blockquote {{ margin: 0 0 1rem; font-size: 1.3rem; line-height: 1.45; max-width: 52rem; }}
.numbers {{ display: grid; grid-template-columns: repeat(4, 1fr); gap: 1px; margin: 0;
  background: var(--rule); border: 1px solid var(--rule); border-radius: 8px; overflow: hidden; }}
.numbers div {{ background: var(--paper); padding: .85rem 1rem; display: flex; flex-direction: column; }}
.numbers dt {{ color: var(--soft); font-size: .85rem; line-height: 1.35; order: 2; }}
.numbers dd {{ margin: 0 0 .15rem; font-size: 1.5rem; font-weight: 600; order: 1;
  font-variant-numeric: tabular-nums; }}
.numbers .strong dd {{ color: var(--certified); }}
.two, .three {{ display: grid; gap: 1.5rem 2rem; margin-bottom: 1rem; }}
.two {{ grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }}
.three .chart {{ max-width: 24rem; }}
.three {{ grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }}
.two > *, .three > * {{ min-width: 0; }}
.verdict {{ border-radius: 6px; padding: .7rem .9rem; max-width: none; }}
.verdict.good {{ background: var(--good-ground); color: var(--good); }}
.verdict.warn {{ background: var(--warn-ground); color: var(--warn); }}
.chart {{ display: block; width: 100%; height: auto; max-width: 30rem; font-size: 13px; overflow: visible; }}
.chart text {{ fill: var(--ink); }}
.chart .tick, .chart .phase, .chart .count {{ fill: var(--soft); font-size: 11.5px; }}
.chart .phase {{ fill: var(--ink); font-weight: 600; }}
.chart .value {{ font-weight: 600; font-variant-numeric: tabular-nums; }}
.chart .halo {{ paint-order: stroke; stroke: var(--paper); stroke-width: 3.5px; stroke-linejoin: round; }}
.chart .grid {{ stroke: var(--rule); stroke-width: 1; }}
.chart .zero {{ stroke: var(--soft); stroke-width: 1.25; }}
.chart .diagonal {{ stroke: var(--soft); stroke-width: 1.25; stroke-dasharray: 5 4; }}
.chart .band {{ fill: none; }}
.chart .band.even {{ fill: var(--band); }}
.chart .curve {{ fill: none; stroke: var(--certified); stroke-width: 2; stroke-linejoin: round; }}
.chart .dot, .chart .end {{ fill: var(--certified); }}
.chart .end {{ stroke: var(--paper); stroke-width: 1.5; }}
.chart .whisker {{ stroke: var(--certified); stroke-width: 1.5; opacity: .6; }}
.chart .gap {{ fill: var(--paper); }}
.chart .certified {{ fill: var(--certified); }}
.chart .measured {{ fill: var(--measured); }}
.chart .held-out {{ fill: var(--held-out); }}
.chart .trivial {{ fill: var(--trivial); }}
.chart .wrong {{ fill: var(--wrong); }}
table {{ border-collapse: collapse; width: 100%; font-size: .92rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
  border-bottom: 1px solid var(--rule); }}
tbody tr:last-child > * {{ border-bottom: 0; }}
th {{ font-weight: 500; color: var(--soft); }}
.facts th {{ width: 13rem; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
code, pre {{ font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
code {{ font-size: .88em; }}
pre {{ background: var(--band); border: 1px solid var(--rule); border-radius: 6px; padding: .8rem 1rem;
  margin: 0 0 .8rem; white-space: pre-wrap; font-size: .9rem; }}
details {{ margin-top: .8rem; }}
summary {{ cursor: pointer; color: var(--soft); font-size: .9rem; }}
details table {{ margin-top: .5rem; max-width: 40rem; }}
footer {{ color: var(--soft); font-size: .85rem; padding: 0 .2rem; }}
@media screen and (max-width: 48rem) {{ .numbers {{ grid-template-columns: 1fr 1fr; }} }}
@media screen and (max-width: 36rem) {{
  body {{ padding: 1.25rem .6rem 2.5rem; }}
  section {{ padding: 1.1rem; }}
  .statement blockquote {{ font-size: 1.12rem; }}
  .numbers dd {{ font-size: 1.25rem; }}
  .facts th {{ width: 8rem; }}
}}
@media print {{
  body {{ padding: 0; background: none; font-size: 10.5pt;
    -webkit-print-color-adjust: exact; print-color-adjust: exact; }}
  section {{ border: 0; border-top: 1px solid var(--rule); border-radius: 0; padding: 1rem 0; }}
  .two > *, .three > *, .numbers, pre, tr, blockquote {{ break-inside: avoid; }}
  h2, h3 {{ break-after: avoid; }}
  .three {{ grid-template-columns: repeat(3, 1fr); gap: .8rem; }}
}}
"""
