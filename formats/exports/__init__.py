"""What a store holds, in the formats of other tools."""
