"""The secrets that a server gives to its runs."""

from collections.abc import Mapping

from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.flow_secrets import used_secrets
from pitstop.service.sealing import Seal
from pitstop.service.secrets import Secrets
from pitstop.store.port import RunRecord


class ServerSecrets:
    """RunSecrets of the stored secrets, sealed with a run by the same seal."""

    def __init__(self, secrets: Secrets, seal: Seal, stored_flows: StoredFlows) -> None:
        self.seal = seal.close
        self._open = seal.open
        self._secrets = secrets
        self._stored_flows = stored_flows

    async def used_by(self, prepared: PreparedRun) -> Mapping[str, str]:
        planned = prepared.planned
        listed = (step.secrets for step in prepared.plan.root.walk())  # a fix loop can be of this run only
        used = used_secrets(planned).union(*listed)
        if not used:
            return {}
        record = prepared.record
        if record.repo is not None:
            return await self._secrets.values_for(record.repo, record.file.partition(":")[2], used)
        flow = self._stored_flows.name_of(record.file, planned.texts.get(planned.flow.source.file, ""))
        return await self._secrets.values_for(None, flow, used)

    def of(self, record: RunRecord) -> Mapping[str, str]:
        return self._open(record.sealed_secrets) if record.sealed_secrets else {}
