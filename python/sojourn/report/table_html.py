"""The summary table as HTML."""

from html import escape

from sojourn import summary_table
from sojourn.comparison import text_tables
from sojourn.comparison.summary import ComparisonSummary
from sojourn.run_summary import Summary


def to_html(summary: Summary) -> str:
    """Format every table as HTML, with explanations of the columns."""
    tables = summary_table.build_all(summary)
    lines = "<br>\n".join(map(escape, summary_table.notes(tables)))
    return "\n".join([*map(_table_html, tables), f'<p class="notes">{lines}</p>'])


def comparison_tables(summary: ComparisonSummary) -> str:
    """Format the tables of a comparison, its gaps, and explanations of its figures."""
    tables = map(_text_table_html, text_tables.build_all(summary))
    gaps, notes = (
        f'<p class="notes">{"<br>".join(map(escape, lines))}</p>'
        for lines in (text_tables.gaps(summary), text_tables.NOTES)
    )
    return "\n".join([*tables, *([gaps] if text_tables.gaps(summary) else []), notes])


def comparison_html(summary: ComparisonSummary) -> str:
    """Return the same with a description of A and B, for notebooks."""
    about = "<br>".join(map(escape, text_tables.about(summary)))
    return f"<p>{about}</p>\n{comparison_tables(summary)}"


def _text_table_html(data: text_tables.TextTable) -> str:
    heads = "".join(
        f'<th scope="col" class="text">{escape(head)}</th>'
        if place < data.names
        else f'<th scope="col">{escape(head)}</th>'
        for place, head in enumerate(data.heads)
    )
    rows = "\n".join(_text_row_html(data, place) for place in range(len(data.rows)))
    return (
        f'<table class="summary">\n<caption>{escape(data.caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _text_row_html(data: text_tables.TextTable, place: int) -> str:
    row = data.rows[place]
    names = "".join(f"<td>{escape(text)}</td>" for text in row[: data.names])
    figures = "".join(f'<td class="number">{escape(text)}</td>' for text in row[data.names :])
    goes_on = "" if place in data.starts else ' class="on"'
    return f"<tr{goes_on}>{names}{figures}</tr>"


def _table_html(data: summary_table.Table) -> str:
    heads = "".join(_head_html(column) for column in data.columns)
    detail = f'<th scope="col" class="text">{data.detail}</th>' if data.detail else ""
    rows = "\n".join(_row_html(data, row) for row in range(len(data.names)))
    return (
        f'<table class="summary">\n<caption>{escape(data.caption)}</caption>\n'
        f'<thead><tr><th scope="col">controller</th>{detail}{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>{_remarks_html(data)}"
    )


def _remarks_html(data: summary_table.Table) -> str:
    """Format the remarks about single rows, directly below their table."""
    if not data.remarks:
        return ""
    return f'\n<p class="notes">{"<br>".join(map(escape, data.remarks))}</p>'


def _head_html(column: summary_table.Column) -> str:
    unit = f"<small>{escape(column.unit)}</small>" if column.unit else ""
    head = escape(column.metric.head)
    return f'<th scope="col" title="{escape(column.metric.meaning)}">{head} {unit}</th>'


def _row_html(data: summary_table.Table, row: int) -> str:
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
