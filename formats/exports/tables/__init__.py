"""The tables that trials are laid out in. docs/exports.md has their columns."""

from toolablate.formats.exports.tables.layout import TABLES, Layout
from toolablate.formats.exports.tables.table import Column, Kind, Row, Table, columns_table

__all__ = ["TABLES", "Column", "Kind", "Layout", "Row", "Table", "columns_table"]
