"""How a language model is asked, what it is sent, what its tokens cost."""
