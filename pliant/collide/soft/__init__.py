"""Contacts of bodies with each other and with themselves."""
