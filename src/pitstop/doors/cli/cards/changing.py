"""`pitstop cards add`, `start`, `retry`, `cancel`, `move` and `rm`: the life of a card."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress

from pitstop.doors.cli.cards.lines import first_line, next_lines, short, words_of
from pitstop.doors.cli.cards.place import Place
from pitstop.doors.cli.cards.printing import answer, desk_of, read_text
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.run_options import read_inputs
from pitstop.errors import CommandRefused, UnknownRun
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardInfo, CardMove, CardPreview, NewCard, StartCard, Work
from pitstop.service.desks import Service

LOOK_SECONDS = 0.5  # while a run is about to start, or its card about to move


async def add(service: Service, place: Place, options: Namespace) -> int:
    request = NewCard(
        title=options.title,
        description=read_text(options.description),
        work=read_work(options),
        base=options.base,
        labels=tuple(options.labels),
        start=options.start,
    )
    if options.preview:
        preview = await desk_of(service).preview(LOCAL, place.repo, request)
        answer(options, preview, preview_lines(preview))
        return PASSED
    card = await desk_of(service).create(LOCAL, place.repo, request)
    place = Place(server=place.server, repo=card.repo, card=card.id, is_given=place.is_given)
    next_command = (f"start it with: {place.command('start')}",) if card.work != "none" else ()
    lines = started_lines(card, place) if options.start else (f"created {card.id}: {card.title}", *next_command)
    answer(options, card, lines)
    return PASSED


def read_work(options: Namespace) -> Work:
    """What the work is to be done by. CommandRefused for an option that belongs to something else."""
    uses = {
        "--prompt": (options.prompt, options.agent, "--agent"),
        "--model": (options.model, options.agent, "--agent"),
        "--cost": (options.cost, options.agent, "--agent"),
        "--image": (options.image, options.agent or options.run, "--agent or --run"),
        "-i": (options.given, options.flow, "--flow"),
    }
    for name, (value, user, needed) in uses.items():
        if value and not user:
            raise CommandRefused(f"{name} needs {needed}")
    return Work(
        agent=options.agent,
        prompt=options.prompt,
        model=options.model,
        budget={} if options.cost is None else {"cost": options.cost},
        run=options.run,
        image=options.image,
        flow=options.flow,
        inputs=read_inputs(None, options.given),
    )


def preview_lines(preview: CardPreview) -> Iterator[str]:
    for title, text in (("prompt", preview.prompt), ("flow", preview.text), ("test", preview.test or "")):
        if text:
            yield from (title, *(f"  {line}".rstrip() for line in text.strip().splitlines()))
    if not (preview.prompt or preview.text):
        yield "nothing would run: the card has no agent, script or flow"


async def start(service: Service, place: Place, options: Namespace) -> int:
    wanted = StartCard(
        guidance=options.guidance, start_from=options.start_from, profile=options.agent, debug=options.debug
    )
    card = await desk_of(service).start(LOCAL, place.card, wanted)
    answer(options, card, started_lines(card, place))
    if not options.follow:
        return PASSED
    card = await _ended(service, card)
    answer(options, card, ended_lines(card, place))
    return PASSED if card.status in ("in_review", "done") else FAILED


async def retry(service: Service, place: Place, options: Namespace) -> int:
    card = await desk_of(service).get(LOCAL, place.card)
    if card.status not in ("in_review", "failed"):
        hint = f": start it with `{place.command('start')}`" if card.status == "todo" else ""
        raise CommandRefused(f"card {card.id} is {words_of(card.status)}, not failed or in review{hint}")
    return await start(service, place, options)


def started_lines(card: CardInfo, place: Place) -> Iterator[str]:
    yield f"{card.id}: attempt {card.attempt} on {card.branch} is run {card.run}"
    if card.run is not None:
        yield f"  follow it with: {place.run_command('logs', card.run, '--follow')}"
        yield f"  debug it with:  {place.run_command('debug', card.run)}"


async def _ended(service: Service, card: CardInfo) -> CardInfo:
    """The card when its attempt has ended: soon after its run."""
    attempt, run = card.attempt, card.run
    while card.status == "in_progress" and card.attempt == attempt:
        if run is not None:
            with suppress(UnknownRun):  # it has not started yet
                await (await service.runs.get(LOCAL, run)).wait()
        card = await desk_of(service).get(LOCAL, card.id)
        if card.status == "in_progress":
            await asyncio.sleep(LOOK_SECONDS)
    return card


def ended_lines(card: CardInfo, place: Place) -> Iterator[str]:
    where = f" at {short(card.head_sha)}" if card.status == "in_review" else ""
    reason = f": {first_line(card.reason)}" if card.reason else ""
    yield f"{card.id} {'failed' if card.status == 'failed' else f'is {words_of(card.status)}'}{where}{reason}"
    yield from next_lines(card, place)


async def cancel(service: Service, place: Place, options: Namespace) -> int:
    card = await desk_of(service).cancel(LOCAL, place.card)
    answer(options, card, (f"cancelled {card.id}: it is {words_of(card.status)}",))
    return PASSED


async def move(service: Service, place: Place, options: Namespace) -> int:
    card = await desk_of(service).move(LOCAL, place.card, CardMove(status=options.status))
    answer(options, card, (f"{card.id} is {words_of(card.status)}",))
    return PASSED


async def remove(service: Service, place: Place, options: Namespace) -> int:
    await desk_of(service).delete(LOCAL, place.card, delete_branch=options.delete_branch)
    kept = "its runs are kept" if options.delete_branch else "its branch and its runs are kept"
    answer(options, {"deleted": place.card}, (f"deleted {place.card}; {kept}",))
    return PASSED
