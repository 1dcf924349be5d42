"""Kernels: attention over some of the columns with its log-sum-exp, chosen by device and dtype.

Every module has one `attend`, all of one signature, and does what `plain.attend` says; that one computes anywhere.
"""
