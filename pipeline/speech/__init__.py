"""From sound to turns: words, speakers, and who said which word."""
