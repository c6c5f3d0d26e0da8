"""The page for the browser, as it was built; its source is in web/."""
