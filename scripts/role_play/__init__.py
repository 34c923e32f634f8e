"""Makes the demo conversation ``role_play``: speaks, draws and annotates its script.

Run ``python -m scripts.role_play`` in the project folder. It needs the packages of the ``dev`` extra, ffmpeg, and flite
(``apt-get install flite``). The result is checked in, so nobody needs to run it to use the demo.
"""
