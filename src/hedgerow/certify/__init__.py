"""How bad can it get: certified values of fixed rules, and the distributions that attain them."""
