"""Mechanisms that follow where something comes from: values, failed look-ups, files, jobs.

They read paths, figures, statuses and the order of steps. Word lists serve only to see what a reply discloses.
"""
