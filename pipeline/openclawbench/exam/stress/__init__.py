"""The stress kit: do a judge's labels change when something changes that should not matter?"""
