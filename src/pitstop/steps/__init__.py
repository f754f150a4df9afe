"""WHAT A STEP CAN DO: one file for each type."""
