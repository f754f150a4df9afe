"""`python3 -m shop 100` prints what 100 is with tax."""

import sys

from shop.prices import with_tax

print(f"{with_tax(float(sys.argv[1])):.2f}")
