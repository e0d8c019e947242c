# SPDX-License-Identifier: MIT
"""The cases of docs/cases.md: a module for each of its tables."""
