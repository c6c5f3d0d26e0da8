import pytest

from legato.bench.overhead import Cost, Costs, Turn, rows


def turn(bare: float, process: float, first: float, cpu: float) -> Turn:
    def cost(seconds: float, used: float) -> Cost:
        return Cost(first=seconds, cpu=used, samples=1)

    return Turn(Costs(bare=cost(bare, 0.1), process=cost(process, 0.102)), first, cpu)


def test_overhead_is_the_difference_of_each_sentence_and_the_ratio_of_all_cpu() -> None:
    first, cpu, whole = rows([turn(0.05, 0.052, 0.06, 0.13), turn(0.07, 0.071, 0.09, 0.15)])
    assert first.value == pytest.approx(0.015)
    assert first.n == 2
    assert cpu.value == pytest.approx(0.02)
    assert whole.value == pytest.approx(0.4)
    assert "75.0 against 60.0 ms" in first.note
