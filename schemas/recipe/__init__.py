"""The recipe language of recipe.md: documents as people write them, and what they expand to."""
