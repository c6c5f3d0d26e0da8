"""What Chinese calls marks, units and currencies."""

from __future__ import annotations

from typing import Final

MONEY: Final = {
    "￥": "元", "¥": "元", "CNY": "元", "RMB": "元", "US$": "美元", "HK$": "港元", "$": "美元",
    "€": "欧元", "£": "英镑", "₩": "韩元", "USD": "美元", "EUR": "欧元", "GBP": "英镑",
    "HKD": "港元", "JPY": "日元",
}  # fmt: skip

UNITS: Final = {
    "kg": "公斤", "g": "克", "mg": "毫克", "t": "吨", "km": "公里", "m": "米", "cm": "厘米",
    "mm": "毫米", "nm": "纳米", "km/h": "公里每小时", "m/s": "米每秒", "m²": "平方米",
    "㎡": "平方米", "m³": "立方米", "km²": "平方公里", "cm²": "平方厘米", "L": "升", "l": "升",
    "ml": "毫升", "mL": "毫升", "s": "秒", "ms": "毫秒", "min": "分钟", "h": "小时", "Hz": "赫兹",
    "kHz": "千赫", "MHz": "兆赫", "GHz": "吉赫", "W": "瓦", "kW": "千瓦", "MW": "兆瓦",
    "kWh": "千瓦时", "V": "伏", "mA": "毫安", "mAh": "毫安时", "KB": "K B", "kB": "K B",
    "MB": "兆", "GB": "G B", "TB": "T B", "kbps": "千比特每秒", "Mbps": "兆比特每秒",
    "Gbps": "吉比特每秒", "dB": "分贝", "Pa": "帕", "kPa": "千帕", "kcal": "千卡", "px": "像素",
    "°C": "摄氏度", "℃": "摄氏度", "°F": "华氏度", "℉": "华氏度", "°": "度",
}  # fmt: skip

MEASURES: Final = (
    "个只条张本块件位名头匹辆台座栋间家把支枝朵棵颗粒滴片层次遍趟场部首篇页行句杯瓶碗盘箱盒包袋"
    "双对套份种类样天周岁小秒刻倍米公千斤克吨升里寸尺英平立毫厘人步瓣节批艘架扇顶根股团群排"
)
"""Characters that begin a measure, before which 2 is 两."""
