"""Kernels: attention over some of the columns with its log-sum-exp, chosen by device and dtype.

Every module has an `attend` of one signature that does what `plain.attend` says; that one computes anywhere.
"""
