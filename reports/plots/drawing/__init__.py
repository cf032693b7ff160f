"""What all figures are drawn with: sheets of rows, bars, colours, and where a drawing goes."""
