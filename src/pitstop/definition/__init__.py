"""WHAT THE USER WROTE: text in, values out."""
