"""Attribution by replay, and what a store says of why its trials went as they did."""
