"""How far several scorers of the same trials agree, and how sure a judge is of its grades."""
