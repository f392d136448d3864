"""One model trained by several processes, on one machine or many: docs/scale.md.

Every rank owns a run of nodes with their edges; boundary rows are exchanged before every product, gradients and losses
are summed, and the noise of every number is what it is in one process. Under ``torchrun`` the command ``gdamn train``
does all of it, and so does :meth:`gdamn.GDAMN.fit` with ``group=torch.distributed.group.WORLD``.
"""
