"""What the charts share: SVG that is readable on light and on dark pages."""

from collections.abc import Sequence

STYLE = """<style>
text { font: 12px sans-serif; fill: #424a53 }
.grid { stroke: #d0d7de } .one { stroke: #1a7f37 }
.ours { fill: #cf222e; stroke: #cf222e } .floor { fill: #57606a; stroke: #57606a }
.peer0 { fill: #57606a } .peer1 { fill: #7d8590 } .peer2 { fill: #97a0a9 }
.peer3 { fill: #afb8c1 } .peer4 { fill: #c4cbd3 } .peer5 { fill: #d4dae0 } .peer6 { fill: #e2e6ea }
@media (prefers-color-scheme: dark) {
text { fill: #c9d1d9 }
.grid { stroke: #3d444d } .one { stroke: #3fb950 }
.ours { fill: #ff7b72; stroke: #ff7b72 } .floor { fill: #9ea7b3; stroke: #9ea7b3 }
.peer0 { fill: #b1bac4 } .peer1 { fill: #9198a1 } .peer2 { fill: #768390 }
.peer3 { fill: #5f6b78 } .peer4 { fill: #4b5563 } .peer5 { fill: #3a424d } .peer6 { fill: #2d333b }
}
</style>"""


def page(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return a whole drawing.

    Args:
        width: in pixels.
        height: in pixels.
        title: what it shows, for those who do not see it.
        parts: what is drawn, in order.
    """
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img">'
    return "\n".join([opening, f"<title>{title}</title>", STYLE, *parts, "</svg>\n"])


def text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="font-size:{size}px">{words}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line of a kind that ``STYLE`` names."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a filled box of a kind that ``STYLE`` names."""
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {shape} class="{kind}" style="stroke:none"/>'
