"""Rows of datasets as plain objects, whatever they are kept in.

`rows_of` reads a JSONL file, a JSON file that is one array of objects, a Parquet file or a folder of such files, a
folder that `datasets` saved, and a dataset of the Hugging Face hub; `typed_rows` makes records of one form of them.
"""
