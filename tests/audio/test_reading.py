from __future__ import annotations

import os
import re
import struct
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile as sf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stt_ru.audio import Audio, load_audio, open_audio, waveform_of
from stt_ru.errors import AudioError, MissingExtraError
from stt_ru.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CUT = re.compile(r"файл оборван или испорчен: прочитано ([\d.]+) с из ([\d.]+) с")


def tone(
    rate: int = 16_000,
    seconds: float = 1.0,
    *,
    hz: float = 440.0,
    level: float = 0.5,
    channels: int = 1,
) -> NDArray[np.float32]:
    """Frames ``(n, channels)`` of a sine; each further channel is one octave of its own lower."""
    times = np.arange(round(rate * seconds)) / rate
    columns = [level * np.sin(2 * np.pi * hz / 2**i * times) for i in range(channels)]
    return np.stack(columns, axis=1).astype(np.float32)


def speechlike(rate: int = 16_000, seconds: float = 5.0) -> NDArray[np.float32]:
    """Frames that a codec cannot make small, so that a cut file lacks sound in proportion."""
    noise = np.random.default_rng(0).standard_normal((round(rate * seconds), 1))
    return np.float32(0.1) * noise.clip(-4, 4).astype(np.float32)


def rms(waveform: NDArray[np.float32], *, skip: float = 0.2) -> float:
    """Level of the middle, without the ends that filters and encoders smear."""
    n = waveform.shape[-1]
    middle = waveform[..., int(n * skip) : int(n * (1 - skip))]
    return float(np.sqrt(np.mean(np.square(middle, dtype=np.float64))))


def db(ratio: float) -> float:
    return 20 * float(np.log10(max(ratio, 1e-12)))


def write(
    path: Path,
    frames: NDArray[Any],
    rate: int = 16_000,
    subtype: str = "PCM_16",
    container: str = "WAV",
) -> Path:
    sf.write(path, frames, rate, subtype=subtype, format=container)
    return path


def write_media(
    path: Path,
    frames: NDArray[np.float32],
    rate: int,
    codec: str,
    *,
    container: str | None = None,
    layout: str = "mono",
    bit_rate: int = 64_000,
    tracks: int = 1,
    with_video: bool = False,
) -> Path:
    """Encode with PyAV."""
    av = pytest.importorskip("av")
    with av.open(str(path), "w", format=container) as output:
        video = output.add_stream("mpeg4", rate=10) if with_video else None
        streams = [output.add_stream(codec, rate=rate, layout=layout) for _ in range(tracks)]
        if video is not None:
            video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
            for i in range(10):
                picture = np.full((64, 64, 3), i, np.uint8)
                output.mux(video.encode(av.VideoFrame.from_ndarray(picture)))
            output.mux(video.encode())
        for stream in streams:
            stream.bit_rate = bit_rate
            if not stream.codec_context.is_open:
                stream.codec_context.open()  # frame_size is known when it is
            step = stream.codec_context.frame_size or 1024
            convert = av.AudioResampler(format=stream.format.name, layout=layout, rate=rate)
            for start in range(0, len(frames), step):
                part = np.ascontiguousarray(frames[start : start + step])
                frame = av.AudioFrame(format="flt", layout=layout, samples=len(part))
                frame.planes[0].update(part.tobytes())
                frame.sample_rate, frame.pts = rate, start
                for converted in convert.resample(frame):
                    output.mux(stream.encode(converted))
            output.mux(stream.encode())
    return path


def cut(path: Path, share: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def patch(path: Path, at: int, data: bytes) -> Path:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
    return path


def data_size_at(path: Path) -> int:
    return path.read_bytes().index(b"data") + 4


@pytest.fixture
def no_av(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)


# --- Formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "subtype", "rate"),
    [
        ("WAV", "PCM_U8", 16_000),
        ("WAV", "PCM_16", 16_000),
        ("WAV", "PCM_24", 48_000),
        ("WAV", "PCM_32", 16_000),
        ("WAV", "FLOAT", 16_000),
        ("WAV", "DOUBLE", 44_100),
        ("WAV", "ULAW", 8_000),
        ("WAV", "ALAW", 8_000),
        ("WAV", "IMA_ADPCM", 8_000),
        ("WAV", "MS_ADPCM", 8_000),
        ("WAV", "GSM610", 8_000),
        ("WAVEX", "PCM_16", 16_000),
        ("RF64", "PCM_16", 16_000),
        ("FLAC", "PCM_16", 16_000),
        ("FLAC", "PCM_24", 96_000),
        ("OGG", "VORBIS", 22_050),
        ("OGG", "OPUS", 48_000),
        ("MP3", "MPEG_LAYER_III", 8_000),
        ("MP3", "MPEG_LAYER_III", 44_100),
        ("AIFF", "PCM_16", 44_100),
        ("AU", "PCM_16", 8_000),
        ("W64", "PCM_16", 16_000),
        ("CAF", "PCM_16", 16_000),
        ("CAF", "ALAC_16", 16_000),
    ],
)
def test_libsndfile_formats_are_read_by_content(
    tmp_path: Path, no_av: None, container: str, subtype: str, rate: int
) -> None:
    path = write(tmp_path / "recording", tone(rate, 2.0), rate, subtype, container)

    audio = load_audio(path)

    assert audio.warnings == ()
    assert (audio.channels, audio.sample_rate) == (1, 16_000)
    assert audio.waveform.dtype == np.float32
    assert audio.waveform.flags.c_contiguous
    assert audio.duration_s == pytest.approx(2.0, abs=0.1)  # ADPCM pads to whole blocks
    assert db(rms(audio.waveform) / rms(tone(seconds=2.0).T)) == pytest.approx(0, abs=0.7)


@pytest.mark.parametrize(
    ("suffix", "codec", "container", "rate", "bit_rate"),
    [
        ("m4a", "aac", None, 44_100, 64_000),
        ("aac", "aac", "adts", 16_000, 32_000),
        ("amr", "libopencore_amrnb", None, 8_000, 12_200),
        ("wma", "wmav2", "asf", 44_100, 128_000),
        ("webm", "libopus", None, 48_000, 64_000),
        ("mkv", "pcm_f32le", None, 16_000, 0),
        ("mka", "flac", "matroska", 48_000, 0),
        ("3gp", "aac", None, 16_000, 32_000),
        ("wv", "wavpack", None, 44_100, 0),
    ],
)
def test_media_formats_are_read_through_pyav(
    tmp_path: Path, suffix: str, codec: str, container: str | None, rate: int, bit_rate: int
) -> None:
    av = pytest.importorskip("av")
    if codec not in av.codecs_available:
        pytest.skip(f"this FFmpeg has no encoder {codec}")
    path = tmp_path / f"recording.{suffix}"
    write_media(path, tone(rate, 2.0), rate, codec, container=container, bit_rate=bit_rate)

    audio = load_audio(path)

    assert audio.warnings == ()
    assert audio.channels == 1
    assert audio.duration_s == pytest.approx(2.0, abs=0.15)  # AAC pads by two of its frames
    assert db(rms(audio.waveform) / rms(tone(seconds=2.0).T)) == pytest.approx(
        0, abs=2.0
    )  # AMR takes 1.6 off a sine


@pytest.mark.parametrize(
    ("suffix", "codec", "rate"),
    [("mp4", "aac", 44_100), ("mkv", "libopus", 48_000), ("avi", "pcm_s16le", 16_000)],
)
def test_sound_is_read_out_of_video(tmp_path: Path, suffix: str, codec: str, rate: int) -> None:
    path = tmp_path / f"video.{suffix}"
    write_media(path, tone(rate, 1.0), rate, codec, with_video=True)

    audio = load_audio(path)

    assert audio.duration_s == pytest.approx(1.0, abs=0.1)
    assert audio.warnings == ()


def test_a_video_without_sound_is_an_error(tmp_path: Path) -> None:
    path = write_media(tmp_path / "video.mp4", tone(), 1, "", tracks=0, with_video=True)

    with pytest.raises(AudioError, match="нет звуковой дорожки"):
        load_audio(path)


def test_of_several_tracks_the_first_is_read_with_a_warning(tmp_path: Path) -> None:
    path = write_media(tmp_path / "film.mkv", tone(), 16_000, "pcm_s16le", tracks=2)

    assert load_audio(path).warnings == ("звуковых дорожек 2, прочитана первая",)


@pytest.mark.parametrize(
    "name",
    ["звонок 1.wav", "CALL.WAV", "call.mp3", "call.raw", "call", "-", "12:30.wav", "a.m4a", "ё.й"],
)
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, tone())

    assert load_audio(str(path)).duration_s == 1.0


def test_a_media_file_with_an_odd_name_is_read(tmp_path: Path) -> None:
    path = write_media(tmp_path / "a.mkv", tone(), 16_000, "pcm_s16le")

    assert load_audio(path.rename(tmp_path / "http: звонок.wav")).duration_s == 1.0


def test_tags_in_a_russian_code_page_do_not_matter(tmp_path: Path) -> None:
    path = write_media(tmp_path / "a.mkv", tone(), 16_000, "pcm_s16le")
    path.write_bytes(path.read_bytes().replace(b"Lavf", "Звук".encode("cp1251")))

    assert load_audio(path).duration_s == 1.0


@pytest.mark.skipif(sys.platform != "linux", reason="names are not bytes here")
def test_a_name_that_is_no_unicode_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone())

    assert load_audio(path.rename(os.fsdecode(bytes(tmp_path) + b"/\xe7.wav"))).duration_s == 1.0


def test_an_mp3_named_wav_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "call.wav", tone(), 16_000, "MPEG_LAYER_III", "MP3")

    assert load_audio(path).duration_s == 1.0


def test_reading_an_mp3_in_pieces_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stt_ru.audio.sndfile.READ_VALUES", 2_048)
    frames = tone(seconds=5.0, level=0.3) + speechlike() / 2  # the encoder borrows bits
    path = write(tmp_path / "a.mp3", frames, 16_000, "MPEG_LAYER_III", "MP3")

    load_audio(path)

    assert capfd.readouterr() == ("", "")


def test_ffmpeg_prints_nothing_about_a_damaged_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_media(tmp_path / "a.aac", speechlike(), 16_000, "aac", container="adts")
    patch(path, path.stat().st_size // 2, os.urandom(20))

    load_audio(cut(path, 0.9))

    assert capfd.readouterr() == ("", "")


# --- Without PyAV --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "head", "said"),
    [
        ("a.wav", b"\0\0\0\x20ftypM4A \0\0\0\0", "формат MP4"),
        ("a", b"\x1aE\xdf\xa3\x01\0\0\0", "формат Matroska"),
        ("a.wav", b"#!AMR\n\x3c\x08\xd5", "формат AMR"),
        ("a.MTS", b"\0\0\0\x01G@\x11\x10", "формат MTS"),
    ],
)
def test_a_format_of_pyav_names_the_extra(
    tmp_path: Path, no_av: None, name: str, head: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(head + bytes(100))

    command = re.escape(install_command("media"))
    with pytest.raises(MissingExtraError, match=f"{said}.*{command}") as caught:
        load_audio(path)

    assert caught.value.extra == "media"


def test_unknown_bytes_are_an_error_that_mentions_the_extra(tmp_path: Path, no_av: None) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(bytes(range(256)))

    command = re.escape(install_command("media"))
    with pytest.raises(AudioError, match=f"формат не распознан.*{command}"):
        load_audio(path)


# --- Rates ---------------------------------------------------------------------------------------

RATES = [4_000, 7_350, 8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000]


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_is_changed_without_changing_level_or_length(tmp_path: Path, rate: int) -> None:
    path = write(tmp_path / "a.wav", tone(rate, 1.234, hz=1_000), rate, "FLOAT")

    audio = load_audio(path)

    assert audio.waveform.shape[1] == pytest.approx(1.234 * 16_000, abs=2)
    assert db(rms(audio.waveform) / (0.5 / 2**0.5)) == pytest.approx(0, abs=0.02)
    spectrum = np.abs(np.fft.rfft(audio.waveform[0]))
    assert np.argmax(spectrum) * 16_000 / audio.waveform.shape[1] == pytest.approx(1_000, abs=1)


@pytest.mark.parametrize("rate", [rate for rate in RATES if rate > 16_000])
def test_what_is_above_the_new_nyquist_is_gone(tmp_path: Path, rate: int) -> None:
    path = write(tmp_path / "a.wav", tone(rate, hz=min(10_000, 0.45 * rate)), rate, "FLOAT")

    assert db(rms(load_audio(path).waveform)) < -80


def test_the_rate_asked_for_is_the_one_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone(16_000), 16_000)

    with open_audio(path, sample_rate=8_000) as reader:
        n = sum(block.shape[1] for block in reader.blocks(0.3))

    assert (n, reader.sample_rate, reader.native_sample_rate) == (8_000, 8_000, 16_000)
    assert reader.duration_s == 1.0


@pytest.mark.parametrize("rate", [0, 1, 3_999, 768_001, 2_000_000_000, 0xFFFF_FFFF])
def test_an_impossible_rate_is_an_error(tmp_path: Path, rate: int) -> None:
    path = patch(write(tmp_path / "a.wav", tone()), 24, struct.pack("<I", rate))

    with pytest.raises(AudioError, match=r"частота|испорчен"):
        load_audio(path)


# --- Channels ------------------------------------------------------------------------------------


def wav_of_channels(path: Path, frames: NDArray[np.float32]) -> Path:
    return write(path, frames, 44_100)


def matroska_of_channels(path: Path, frames: NDArray[np.float32]) -> Path:
    channels = frames.shape[1]
    layout = {1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"}.get(channels, f"{channels}C")
    return write_media(
        path, frames, 44_100, "pcm_s16le", container="matroska", layout=layout, bit_rate=0
    )


@pytest.mark.parametrize("channels", [1, 2, 3, 6, 8, 64])
@pytest.mark.parametrize("write_channels", [wav_of_channels, matroska_of_channels])
def test_channels_keep_their_order_and_identity(
    tmp_path: Path, channels: int, write_channels: Callable[[Path, NDArray[np.float32]], Path]
) -> None:
    rng = np.random.default_rng(channels)
    levels = np.linspace(0.01, 0.2, channels, dtype=np.float32)
    frames = rng.standard_normal((44_100, channels)).astype(np.float32).clip(-4, 4) * levels
    twin = channels // 2
    frames[:, -1] = frames[:, twin]

    with open_audio(write_channels(tmp_path / "a", frames)) as reader:
        waveform = np.concatenate(list(reader.blocks(0.1)), axis=1)

    assert reader.channels == channels
    assert waveform.shape == (channels, 16_000)
    assert np.array_equal(waveform[-1], waveform[twin])
    distinct = [rms(channel) for channel in waveform[:-1]]
    assert distinct == sorted(distinct)
    assert len(set(distinct)) == len(distinct)


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_equal_channels_of_a_lossy_file_stay_equal(tmp_path: Path, subtype: str) -> None:
    frames = np.repeat(speechlike(48_000, 1.0), 2, axis=1)
    waveform = load_audio(write(tmp_path / "a", frames, 48_000, subtype, "OGG")).waveform

    assert np.array_equal(waveform[0], waveform[1])


def test_mono_is_the_mean_of_the_channels(tmp_path: Path) -> None:
    frames = tone(channels=2)
    path = write(tmp_path / "a.wav", frames, subtype="FLOAT")

    with open_audio(path, mono=True) as reader:
        (block,) = reader.blocks(2.0)

    assert reader.channels == 2
    np.testing.assert_array_equal(block, frames.mean(axis=1)[np.newaxis])


def test_mono_is_resampled(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone(44_100, channels=2), 44_100, "FLOAT")

    mono = load_audio(path, mono=True).waveform

    assert mono.shape == (1, 16_000)
    np.testing.assert_allclose(mono[0], load_audio(path).waveform.mean(axis=0), atol=1e-5)


def test_mono_is_mixed_after_the_repair(tmp_path: Path) -> None:
    frames = np.array([[np.nan, 0.5], [np.inf, 0.0]], np.float32)
    audio = load_audio(write(tmp_path / "a.wav", frames, subtype="FLOAT"), mono=True)

    np.testing.assert_array_equal(audio.waveform, [[0.25, 0.5]])


# --- Blocks --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Audio]]:
    folder = tmp_path_factory.mktemp("recordings")
    frames = np.concatenate([speechlike(44_100, 7.1), tone(44_100, 7.1)], axis=1)
    paths = [
        write(folder / "44k1.wav", frames, 44_100),
        write(folder / "44k1.mp3", frames, 44_100, "MPEG_LAYER_III", "MP3"),
        write(folder / "16k.ogg", frames[:, :1], 16_000, "VORBIS", "OGG"),
    ]
    return {path.name: (path, load_audio(path)) for path in paths}


@pytest.mark.parametrize("name", ["44k1.wav", "44k1.mp3", "16k.ogg"])
@given(block_s=st.floats(0.003, 30.0))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_blocks_join_to_the_same_bits_whatever_their_length(
    recordings: dict[str, tuple[Path, Audio]], name: str, block_s: float
) -> None:
    path, whole = recordings[name]

    with open_audio(path) as reader:
        blocks = list(reader.blocks(block_s))

    n = round(block_s * 16_000)
    assert [block.shape[1] for block in blocks[:-1]] == [n] * (len(blocks) - 1)
    assert 0 < blocks[-1].shape[1] <= n
    assert all(block.flags.c_contiguous for block in blocks)
    assert np.array_equal(np.concatenate(blocks, axis=1), whole.waveform)
    assert reader.duration_s == pytest.approx(whole.duration_s, abs=1e-4)


def test_a_recording_is_read_once(tmp_path: Path) -> None:
    with open_audio(write(tmp_path / "a.wav", tone())) as reader:
        list(reader.blocks(1.0))
        with pytest.raises(RuntimeError, match="read once"):
            reader.blocks(1.0)


@pytest.mark.parametrize("block_s", [0.0, -1.0, float("nan")])
def test_a_block_has_a_length(tmp_path: Path, block_s: float) -> None:
    with (
        open_audio(write(tmp_path / "a.wav", tone())) as reader,
        pytest.raises(ValueError, match="positive"),
    ):
        reader.blocks(block_s)


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    def peak_of(seconds: int) -> int:
        path = write(tmp_path / "a.wav", np.zeros((100, 2)), 48_000)
        os.truncate(path, 44 + seconds * 48_000 * 4)  # sparse
        patch(path, data_size_at(path), struct.pack("<I", seconds * 48_000 * 4))
        tracemalloc.start()
        with open_audio(path) as reader:
            n_samples = sum(block.shape[1] for block in reader.blocks(10.0))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert n_samples == seconds * 16_000
        return peak

    peak_of(20)  # what is allocated once
    assert peak_of(200) < 1.2 * peak_of(30)


# --- Headers that lie ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "subtype"),
    [
        ("WAV", "PCM_16"),
        ("WAV", "FLOAT"),
        ("WAV", "ULAW"),
        ("WAV", "MS_ADPCM"),
        ("RF64", "PCM_16"),
        ("AIFF", "PCM_16"),
        ("AU", "PCM_16"),
        ("W64", "PCM_16"),
        ("FLAC", "PCM_16"),
        ("MP3", "MPEG_LAYER_III"),
    ],
)
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_cut_file_is_read_with_a_warning(
    tmp_path: Path, container: str, subtype: str, share: float
) -> None:
    path = cut(write(tmp_path / "a", speechlike(), 16_000, subtype, container), share)

    audio = load_audio(path)

    assert audio.duration_s == pytest.approx(5.0 * share, abs=0.4)
    (warning,) = audio.warnings
    said = CUT.match(warning)
    assert said is not None
    assert float(said[1]) == pytest.approx(audio.duration_s, abs=0.06)
    assert float(said[2]) == pytest.approx(5.0, abs=0.3)  # ADPCM decodes whole blocks only


def test_a_cut_big_endian_wav_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    sf.write(path, speechlike(), 16_000, subtype="PCM_16", endian="BIG")
    assert path.read_bytes()[:4] == b"RIFX"

    (warning,) = load_audio(cut(path, 0.6)).warnings

    assert CUT.match(warning)


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_a_cut_ogg_file_is_read_with_a_warning(tmp_path: Path, subtype: str) -> None:
    path = cut(write(tmp_path / "a.ogg", speechlike(), 16_000, subtype, "OGG"), 0.6)

    audio = load_audio(path)

    assert 1.0 < audio.duration_s < 3.1  # whole pages of about a second
    assert audio.warnings == (
        f"файл оборван: у записи нет конца, прочитано {audio.duration_s:.1f} с, "
        "а сколько было, неизвестно",
    )


@pytest.mark.parametrize(
    ("suffix", "codec", "said"),
    [("mka", "pcm_s16le", CUT), ("aac", "aac", re.compile("файл оборван или испорчен"))],
)
def test_a_cut_media_file_is_read_with_a_warning(
    tmp_path: Path, suffix: str, codec: str, said: re.Pattern[str]
) -> None:
    container = {"mka": "matroska", "aac": "adts"}[suffix]
    path = tmp_path / f"a.{suffix}"
    write_media(path, speechlike(), 16_000, codec, container=container)

    audio = load_audio(cut(path, 0.6))

    assert audio.duration_s == pytest.approx(3.0, abs=0.3)
    (warning,) = audio.warnings
    assert said.match(warning)


def test_a_cut_mp4_without_its_index_is_an_error(tmp_path: Path) -> None:
    path = write_media(tmp_path / "a.m4a", speechlike(), 16_000, "aac")

    with pytest.raises(AudioError, match="испорчен или оборван"):
        load_audio(cut(path, 0.6))


@pytest.mark.parametrize("size", [0, 0x7FFF_F000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF])
@pytest.mark.parametrize("subtype", ["PCM_16", "ULAW", "FLOAT"])
def test_a_wav_written_into_a_pipe_is_whole(tmp_path: Path, size: int, subtype: str) -> None:
    frames = speechlike()
    path = write(tmp_path / "a.wav", frames, subtype=subtype)
    whole = load_audio(path)
    patch(path, 4, struct.pack("<I", size))
    data_at = data_size_at(path) + 4
    os.truncate(path, data_at + len(frames) * {"PCM_16": 2, "ULAW": 1, "FLOAT": 4}[subtype])
    patch(path, data_at - 4, struct.pack("<I", size))

    audio = load_audio(path)

    assert audio.warnings == ()
    assert np.array_equal(audio.waveform, whole.waveform)


def test_a_wav_with_too_small_a_size_warns_of_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", speechlike())
    patch(path, data_size_at(path), struct.pack("<I", 32_000))

    audio = load_audio(path)

    assert audio.duration_s == 1.0
    assert audio.warnings == (
        "по заголовку звука 1.0 с, а в файле после него ещё 128000 байт, они не прочитаны: файл "
        "склеен из нескольких, перекодируйте его, или заголовок неверен, исправьте его",
    )


@pytest.mark.parametrize(
    ("container", "chunks"),
    [
        *((kind, b"") for kind in ("WAV", "RIFX", "RF64", "FLAC", "MP3")),
        *((kind, b"LIST\x04\0\0\0INFO") for kind in ("WAV", "RIFX", "RF64")),
        *((kind, b"bext\x03\0\0\0abc\0") for kind in ("WAV", "RIFX", "RF64")),
    ],
)
@pytest.mark.parametrize("n_samples", [16_000, 16_001])
def test_of_joined_files_the_first_is_read_and_the_rest_is_counted(
    tmp_path: Path, no_av: None, container: str, n_samples: int, chunks: bytes
) -> None:
    first = write(tmp_path / "a.wav", speechlike()[:n_samples], subtype="PCM_U8")
    alone = load_audio(first)
    second = tmp_path / "b"
    endian = "BIG" if container == "RIFX" else "FILE"
    sf.write(second, speechlike(), 16_000, format=container.replace("RIFX", "WAV"), endian=endian)
    first.write_bytes(first.read_bytes() + chunks + second.read_bytes())

    audio = load_audio(first)

    assert np.array_equal(audio.waveform, alone.waveform)
    assert audio.warnings == (
        f"по заголовку звука 1.0 с, а в файле после него ещё {second.stat().st_size} байт, они не "
        "прочитаны: файл склеен из нескольких, перекодируйте его, или заголовок неверен, исправьте "
        "его",
    )


def test_an_empty_wav_before_another_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone()[:0])
    path.write_bytes(path.read_bytes() + write(tmp_path / "b.wav", tone()).read_bytes())

    with pytest.raises(AudioError, match="ни одного отсчёта"):
        load_audio(path)


@pytest.mark.parametrize(
    "tail",
    [
        b"LIST\x04\0\0\0INFO",
        b"ID3 \x20\x4e\0\0" + bytes(20_000),
        b"\xff" * 500,
        b"bext\x5a\x02\0\0" + bytes(602) + b"id3 \x20\x4e\0\0" + bytes(20_000),
        b"LIST\x05\0\0\0INFO1id3 \x20\x4e\0\0" + bytes(20_000),  # without its last byte
        b"LIST\x20\x4e\0\0" + b"RIFF\x04\0\0\0WAVE" * 1000 + bytes(8000),
    ],
)
def test_chunks_and_crumbs_after_the_data_are_no_warning(tmp_path: Path, tail: bytes) -> None:
    path = write(tmp_path / "a.wav", tone())
    path.write_bytes(path.read_bytes() + tail)

    assert load_audio(path).warnings == ()


def test_a_wav_whose_size_counts_its_header_is_no_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone())
    patch(path, data_size_at(path), struct.pack("<I", 32_000 + 36))

    audio = load_audio(path)

    assert audio.warnings == ()
    assert audio.duration_s == 1.0


@pytest.mark.parametrize("reverse", [False, True], ids=["quiet first", "loud first"])
def test_an_mp3_of_variable_rate_without_a_length_is_read_to_its_end(
    tmp_path: Path, no_av: None, reverse: bool
) -> None:
    frames = np.concatenate([np.zeros((88_200, 1)), speechlike(44_100, 2.0)])
    path = tmp_path / "a.mp3"
    sf.write(
        path,
        frames[::-1] if reverse else frames,
        44_100,
        format="MP3",
        bitrate_mode="VARIABLE",
        compression_level=0.1,
    )
    data = path.read_bytes()
    assert b"Xing" in data
    path.write_bytes(data.replace(b"Xing", bytes(4)))

    audio = load_audio(path)

    assert audio.duration_s == pytest.approx(4.0, abs=0.1)
    assert audio.warnings == ()


def test_the_length_of_an_mp3_is_found_after_its_tag(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp3", speechlike(), 16_000, "MPEG_LAYER_III", "MP3")
    data = path.read_bytes()
    tag = b"ID3\x04\0\0" + bytes([0, 0, 40, 0]) + bytes(40 << 7)
    path.write_bytes(tag + data[: int(len(data) * 0.6)])

    (warning,) = load_audio(path).warnings

    assert CUT.match(warning)


@pytest.mark.parametrize(
    ("container", "subtype"), [("MP3", "MPEG_LAYER_III"), ("OGG", "VORBIS"), ("OGG", "OPUS")]
)
def test_two_files_in_one_are_a_warning(tmp_path: Path, container: str, subtype: str) -> None:
    path = write(tmp_path / "a", speechlike(), 16_000, subtype, container)
    path.write_bytes(path.read_bytes() * 2)

    audio = load_audio(path)

    assert audio.duration_s == pytest.approx(5.0, abs=0.1)
    (warning,) = audio.warnings
    assert "файл склеен из нескольких" in warning


@pytest.mark.parametrize(
    ("n_promised", "n_read", "warnings"),
    [(0, 80_000, []), (1_000, 1_000, ["не прочитаны"]), (160_000, 80_000, ["из 10.0 с"])],
    ids=["unknown", "less", "more"],
)
def test_the_length_in_a_flac_header_is_not_believed(
    tmp_path: Path, n_promised: int, n_read: int, warnings: list[str]
) -> None:
    path = write(tmp_path / "a.flac", speechlike(), 16_000, "PCM_16", "FLAC")
    rate_to_length = int.from_bytes(path.read_bytes()[18:26])  # the last 36 bits are the length
    patch(path, 18, (rate_to_length >> 36 << 36 | n_promised).to_bytes(8))

    audio = load_audio(path)

    assert audio.waveform.shape == (1, n_read)
    assert len(audio.warnings) == len(warnings)
    assert all(part in said for part, said in zip(warnings, audio.warnings, strict=True))


# --- Damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bytes", [1, 400], ids=["one byte", "400 bytes"])
def test_a_damaged_flac_is_an_error(tmp_path: Path, n_bytes: int) -> None:
    path = write(tmp_path / "a.flac", speechlike(), 16_000, "PCM_16", "FLAC")
    middle = path.stat().st_size // 2
    patch(path, middle, bytes(byte ^ 0x55 for byte in path.read_bytes()[middle : middle + n_bytes]))

    with open_audio(path) as reader, pytest.raises(AudioError, match=r"звук читается только до \d"):
        list(reader.blocks(1.0))


@pytest.mark.parametrize(
    ("container", "subtype"), [("MP3", "MPEG_LAYER_III"), ("OGG", "VORBIS"), ("OGG", "OPUS")]
)
def test_a_decoder_that_recovers_leaves_a_warning(
    tmp_path: Path, container: str, subtype: str
) -> None:
    path = write(tmp_path / "a", speechlike(), 16_000, subtype, container)
    patch(path, path.stat().st_size // 2, bytes(range(200)) * 2)

    audio = load_audio(path)

    assert 3.0 < audio.duration_s < 5.0
    (warning,) = audio.warnings
    assert CUT.match(warning)


def test_a_media_file_that_is_mostly_damaged_is_an_error(tmp_path: Path) -> None:
    path = write_media(tmp_path / "a.mkv", speechlike(), 16_000, "aac", container="matroska")
    data = bytearray(path.read_bytes())
    for at in range(3_000, len(data) - 3_000, 150):
        data[at : at + 60] = bytes(60)
    path.write_bytes(data)

    with pytest.raises(AudioError, match="испорчен"):
        load_audio(path)


def test_a_rate_that_changes_on_the_way_is_an_error(tmp_path: Path) -> None:
    parts = [
        write_media(tmp_path / f"{rate}.aac", tone(rate), rate, "aac", container="adts")
        for rate in (16_000, 44_100)
    ]
    path = tmp_path / "a.aac"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))

    with pytest.raises(AudioError, match="16000 Гц, каналов 1, потом 44100 Гц, каналов 1"):
        load_audio(path)


def test_zero_samples_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", np.zeros((0, 1)))

    with open_audio(path) as reader, pytest.raises(AudioError, match="нет ни одного отсчёта"):
        list(reader.blocks(1.0))
    with pytest.raises(AudioError, match="нет ни одного отсчёта"):
        load_audio(path)


def test_a_header_without_the_data_it_promises_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", tone())
    os.truncate(path, 44)

    with pytest.raises(AudioError, match="нет ни одного отсчёта"):
        load_audio(path)


@pytest.mark.parametrize("n_bytes", [1, 4, 11, 12, 20, 43])
def test_half_a_header_is_an_error(tmp_path: Path, n_bytes: int) -> None:
    path = write(tmp_path / "a.wav", tone())
    os.truncate(path, n_bytes)

    with pytest.raises(AudioError):
        load_audio(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("Привет, мир".encode(), "«Привет, мир»"),
        ("Привет, мир".encode("cp1251"), "«Привет, мир»"),
        ("Привет, мир".encode("utf-16"), "«Привет, мир»"),
        (b"\n<!DOCTYPE html>\n<html><body>404 Not Found, try again", "«<!DOCTYPE html> <html>"),
        (b"version https://git-lfs.github.com/spec/v1\n", "«version https://git-lfs"),
        ("я".encode() * 3_000 + b"\xd1", "«" + "я" * 40 + "…»"),
    ],
    ids=["utf-8", "cp1251", "utf-16", "html", "git-lfs", "cut letter"],
)
@pytest.mark.parametrize("name", ["a.wav", "a.m4a"])
def test_text_is_recognised_as_text(tmp_path: Path, data: bytes, said: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(AudioError, match=re.escape("это текст, а не звук: " + said)):
        load_audio(path)


@pytest.mark.parametrize("data", [bytes(5_000), bytes(range(256)) * 20, b"RIFF\xff\xff\0\0WAVE"])
def test_other_bytes_are_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(data)

    with pytest.raises(AudioError, match=r"не распознан|не читается"):
        load_audio(path)


# --- No file -------------------------------------------------------------------------------------


def make_nothing(path: Path) -> None:
    pass


def make_fifo(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no FIFO here")
    os.mkfifo(path)


def make_device(path: Path) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no devices here")
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_nothing, "файла нет"),
        (Path.touch, "файл пуст (0 байт)"),
        (Path.mkdir, "это папка"),
        (make_fifo, "канал или устройство"),
        (make_device, "канал или устройство"),
        (lambda path: path.symlink_to(path), "файл не открывается"),
    ],
    ids=["missing", "empty", "folder", "fifo", "device", "loop"],
)
def test_what_is_no_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "a.wav"
    make(path)

    with pytest.raises(AudioError, match=re.escape(said)):
        open_audio(path)


def test_a_nul_in_a_path_is_refused() -> None:
    with pytest.raises(AudioError, match="файл не открывается"):
        open_audio("a\0.wav")


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.wav", tone())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # permissions mean nothing to root
    with pytest.raises(AudioError, match="нет прав"):
        open_audio(path)


@pytest.fixture
def open_files() -> Callable[[], int]:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("open files cannot be counted here")
    return lambda: len(list(folder.iterdir()))


@pytest.mark.parametrize("name", ["good.wav", "good.mkv", "text.wav", "noise.wav", "rate.wav"])
def test_no_file_stays_open(tmp_path: Path, open_files: Callable[[], int], name: str) -> None:
    path = tmp_path / name
    match name:
        case "good.mkv":
            write_media(path, tone(), 16_000, "pcm_s16le")
        case "text.wav":
            path.write_text("текст")
        case "noise.wav":
            path.write_bytes(bytes(range(256)))
        case _:
            write(path, tone())
    if name == "rate.wav":
        patch(path, 24, struct.pack("<I", 1))
    before = open_files()

    if name.startswith("good"):
        reader = open_audio(path)
        next(reader.blocks(0.1))
        reader.close()
        reader.close()
    else:
        with pytest.raises(AudioError):
            open_audio(path)

    assert open_files() == before


# --- Samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_what_is_not_finite_is_repaired_and_counted(tmp_path: Path, subtype: str) -> None:
    frames = tone(channels=2)
    frames[100:103, 0] = np.nan
    frames[200, 1] = np.inf
    frames[300, 1] = -np.inf

    audio = load_audio(write(tmp_path / "a.wav", frames, subtype=subtype))

    assert audio.waveform[0, 100:103].tolist() == [0, 0, 0]
    assert audio.waveform[1, [200, 300]].tolist() == [1, -1]
    assert audio.warnings == (
        "не числа (NaN) заменены тишиной: 3 из 32000 отсчётов",
        "бесконечности заменены полной шкалой: 2 из 32000 отсчётов",
    )


def test_not_finite_samples_do_not_spread_through_the_resampler(tmp_path: Path) -> None:
    frames = tone(48_000)
    frames[10_000:10_010] = np.nan
    frames[20_000] = np.inf

    audio = load_audio(write(tmp_path / "a.wav", frames, 48_000, "FLOAT"))

    assert np.isfinite(audio.waveform).all()
    assert np.abs(audio.waveform).max() <= 1.0
    assert db(rms(audio.waveform) / (0.5 / 2**0.5)) == pytest.approx(0, abs=0.1)


def test_a_float_file_beyond_full_scale_is_clipped_with_a_warning(tmp_path: Path) -> None:
    frames = tone(level=1.2)
    n_loud = np.count_nonzero(np.abs(frames) > 1.001)

    audio = load_audio(write(tmp_path / "a.wav", frames, subtype="FLOAT"))

    np.testing.assert_array_equal(audio.waveform, frames.T.clip(-1, 1))
    assert audio.warnings == (
        f"отсчёты громче полной шкалы обрезаны: {n_loud} из 16000, пик {np.abs(frames).max():.6g}",
    )


@pytest.mark.parametrize(
    ("scale", "codec"), [(32_768, "FLOAT"), (2**31, "FLOAT"), (32_768, "pcm_f32le")]
)
def test_integers_stored_as_floats_are_an_error(tmp_path: Path, scale: int, codec: str) -> None:
    frames = np.round(tone() * scale).astype(np.float32)
    path = tmp_path / "a"
    if codec == "FLOAT":
        write(path, frames, subtype=codec)
    else:
        write_media(path, frames, 16_000, codec, container="matroska", bit_rate=0)

    with pytest.raises(AudioError, match="целые числа, записанные как float"):
        load_audio(path)


def test_a_single_absurd_sample_is_clipped(tmp_path: Path) -> None:
    frames = tone()
    frames[5_000] = -1e30

    audio = load_audio(write(tmp_path / "a.wav", frames, subtype="FLOAT"))

    assert audio.waveform[0, 5_000] == -1
    assert audio.warnings == ("отсчёты громче полной шкалы обрезаны: 1 из 16000, пик 1e+30",)


@pytest.mark.parametrize(
    ("container", "subtype"), [("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III"), ("WAV", "PCM_16")]
)
def test_overshoot_of_decoders_and_resamplers_is_clipped_in_silence(
    tmp_path: Path, container: str, subtype: str
) -> None:
    square = np.sign(tone(44_100, 2.0, hz=441))

    audio = load_audio(write(tmp_path / "a", square, 44_100, subtype, container))

    assert np.abs(audio.waveform).max() == 1.0
    assert audio.warnings == ()


def test_full_scale_rounded_up_is_no_warning(tmp_path: Path) -> None:
    frames = (np.array([[-32_768], [32_767]]) / 32_767).astype(np.float32)

    audio = load_audio(write(tmp_path / "a.wav", frames, subtype="FLOAT"))

    assert audio.waveform.tolist() == [[-1, 1]]
    assert audio.warnings == ()


def test_a_constant_is_sound(tmp_path: Path) -> None:
    audio = load_audio(write(tmp_path / "a.wav", np.full((48_000, 1), 0.25), 48_000))

    assert rms(audio.waveform) == pytest.approx(0.25, abs=1e-4)
    assert audio.warnings == ()


@pytest.mark.parametrize("rate", [4_000, 16_000, 48_000, 192_000])
def test_one_sample_is_a_recording(tmp_path: Path, rate: int) -> None:
    with open_audio(write(tmp_path / "a.wav", np.full((1, 2), 0.25), rate)) as reader:
        (block,) = reader.blocks(1.0)

    assert block.shape == (2, max(1, 16_000 // rate))
    assert reader.duration_s == 1 / rate
    assert reader.warnings == ()


def test_samples_in_memory_are_a_recording_of_one_channel() -> None:
    samples = tone(8_000, level=0.5)[:, 0]
    assert waveform_of(samples, 8_000).shape == (1, 16_000)
    loud = waveform_of(np.array([0.5, 1.5, -3.0]), 16_000)
    assert loud.tolist() == [[0.5, 1.0, -1.0]]


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        pytest.param(np.zeros(0, np.float32), 16_000, "ни одного отсчёта", id="none"),
        pytest.param(np.zeros(5, np.int16), 16_000, "плавающей точкой, а не int16", id="integers"),
        pytest.param(np.zeros((2, 5)), 16_000, r"одного канала .* \(2, 5\)", id="channels"),
        pytest.param(np.array([0.0, np.nan]), 16_000, "не числа", id="nan"),
        pytest.param(np.full(9, 3000.0), 16_000, "целые числа, записанные как float", id="scale"),
        pytest.param(np.zeros(5), 100, "частота дискретизации 100 Гц", id="rate"),
    ],
)
def test_samples_in_memory_that_are_no_sound_are_refused(
    samples: NDArray[np.floating], rate: int, message: str
) -> None:
    with pytest.raises(AudioError, match=message):
        waveform_of(samples, rate)
