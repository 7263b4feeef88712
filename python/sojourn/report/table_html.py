"""The summary table as HTML."""

from html import escape

from sojourn import table
from sojourn.contract import Summary


def to_html(summary: Summary) -> str:
    """Every table, as HTML, and what their columns mean."""
    tables = table.build_all(summary)
    lines = "<br>\n".join(map(escape, table.notes(tables)))
    return "\n".join([*map(_table_html, tables), f'<p class="notes">{lines}</p>'])


def _table_html(data: table.Table) -> str:
    heads = "".join(_head_html(column) for column in data.columns)
    detail = f'<th scope="col" class="text">{data.detail}</th>' if data.detail else ""
    rows = "\n".join(_row_html(data, row) for row in range(len(data.names)))
    return (
        f'<table class="summary">\n<caption>{escape(data.caption)}</caption>\n'
        f'<thead><tr><th scope="col">controller</th>{detail}{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _head_html(column: table.Column) -> str:
    unit = f"<small>{escape(column.unit)}</small>" if column.unit else ""
    head = escape(column.metric.head)
    return f'<th scope="col" title="{escape(column.metric.meaning)}">{head} {unit}</th>'


def _row_html(data: table.Table, row: int) -> str:
    name = data.names[row]
    colour = f' style="background:{name.colour}"' if name.colour else ""
    swatch = f'<span class="swatch"{colour}></span>'
    cells = [f'<th scope="row">{swatch}{escape(name.control)}</th>']
    if data.detail:
        cells.append(f"<td>{escape(name.detail)}</td>")
    for column in data.columns:
        cell = column.cells[row]
        interval = f"<small>{cell.interval}</small>" if cell.interval else ""
        cells.append(f'<td class="number">{cell.text}{interval}</td>')
    return "<tr>" + "".join(cells) + "</tr>"
