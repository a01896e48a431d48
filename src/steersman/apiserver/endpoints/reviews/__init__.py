"""Review endpoints: posted objects that are answered in their status and never stored."""
