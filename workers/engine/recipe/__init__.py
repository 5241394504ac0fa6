"""The recipe language (recipe.md): text to document, document to objects, objects to shapes and dtypes."""
